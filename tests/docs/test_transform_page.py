"""The examples of docs/transform.md hold, its EXPLAIN is one, and its refusals have their codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from floodmark.errors import FloodmarkError
from floodmark.stream.explain.explain import explain_object
from tests.program_reference import compile_sql

PAGE = (Path(__file__).parents[2] / "docs" / "transform.md").read_text()
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
REFUSED = re.findall(r"^\| `(SELECT [^|]*?)`.* \| (E0\d{3}) \|", PAGE, re.MULTILINE)
SOURCE = """
CREATE TABLE other (k INT PRIMARY KEY, name VARCHAR);
CREATE SOURCE s (id INT, kind VARCHAR, n INT, ts TIMESTAMPTZ, tags VARCHAR[])
WITH (connector = 'files', path = 'p') FORMAT PLAIN ENCODE JSON TRANSFORM USING ({query});
"""


def test_the_examples_hold() -> None:
    *defined, altered = EXAMPLES
    pipeline = compile_sql("\n".join(defined))
    assert altered.startswith("ALTER SOURCE orders_30d REBASE")
    assert str(explain_object(pipeline["orders_30d"], pipeline)) in PAGE


@pytest.mark.parametrize(("query", "code"), REFUSED)
def test_what_is_refused_is(query: str, code: str) -> None:
    with pytest.raises(FloodmarkError) as refused:
        compile_sql(SOURCE.format(query=query))
    assert refused.value.code == code and refused.value.span is not None and refused.value.hint


def test_the_table_is_read_whole() -> None:
    _, _, section = PAGE.partition("## What is refused")
    rows = [line for line in section.split("\n## ")[0].split("\n") if line.startswith("| `")]
    assert len(rows) == len(REFUSED) > 15
