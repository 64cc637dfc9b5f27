from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_script, parse_statement
from floodmark.sql.statements import ConflictAction, CreateTable, Statement

SEEDS = parse_script((Path(__file__).parent / "seeds.sql").read_text(), "seeds.sql")


@pytest.mark.parametrize("statement", SEEDS, ids=lambda s: f"{s.span.line}-{type(s).__name__}")
def test_prints_stably(statement: Statement) -> None:
    text = to_sql(statement)
    assert to_sql(parse_statement(text)) == text


@pytest.mark.parametrize(
    ("words", "action"),
    [
        (words, action)
        for action, several in {
            ConflictAction.UPDATE_FULL: "OVERWRITE, UPSERT, DO UPSERT, DO UPDATE FULL",
            ConflictAction.DO_NOTHING: "IGNORE, DO NOTHING",
            ConflictAction.UPDATE_IF_NOT_NULL: "PARTIAL UPDATE, DO UPDATE IF NOT NULL",
            ConflictAction.UPDATE_SET: "DO UPDATE SET v = EXCLUDED.v",
        }.items()
        for words in several.split(", ")
    ],
)
def test_old_words_of_conflict_before_and_behind_the_options(
    words: str, action: ConflictAction
) -> None:
    made = "CREATE TABLE t (k INT PRIMARY KEY, v INT)"
    options = "WITH ('ttl' = '7d')"
    before, behind = (
        parse_statement(f"{made} {first} {second}")
        for first, second in ((f"ON CONFLICT {words}", options), (options, f"ON CONFLICT {words}"))
    )
    assert before == behind
    assert isinstance(before, CreateTable) and before.conflict is not None
    assert before.conflict.action is action
    assert [(o.name, o.value) for o in before.options] == [("ttl", "7d")]
