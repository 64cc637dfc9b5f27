from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_script, parse_statement
from floodmark.sql.statements import Statement

SEEDS = parse_script((Path(__file__).parent / "seeds.sql").read_text(), "seeds.sql")


@pytest.mark.parametrize("statement", SEEDS, ids=lambda s: f"{s.span.line}-{type(s).__name__}")
def test_prints_stably(statement: Statement) -> None:
    text = to_sql(statement)
    assert to_sql(parse_statement(text)) == text
