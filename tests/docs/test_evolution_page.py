"""The examples of docs/evolution.md run, in their order, and give what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import floodmark
from floodmark.spark.session import Sessions

PAGE = (Path(__file__).parents[2] / "docs/evolution.md").read_text()
BLOCKS = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
STEP = re.compile(r"(?P<sql>[^;]+;)\n?(?P<rows>(?:-->.*\n)*)")


def _text(value: object) -> str:
    return "NULL" if value is None else str(value)


@pytest.mark.spark
def test_the_page_runs(sessions: Sessions, tmp_path: Path) -> None:
    with floodmark.connect(tmp_path, sessions=lambda: sessions) as fm:
        for step in (found for block in BLOCKS for found in STEP.finditer(block)):
            result = fm.execute(step["sql"].strip())
            expected = [line.removeprefix("-->").split() for line in step["rows"].splitlines()]
            if step["sql"].split()[0] == "SELECT":
                assert [list(map(_text, row)) for row in result.rows] == expected, step["sql"]
        assert not fm.warehouse.log.suspensions()
