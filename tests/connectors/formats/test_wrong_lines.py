"""A line of JSON that is no row says what is wrong with it, and names no column that it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.connectors.base import SourceSpec
from floodmark.connectors.registry import make_connector
from floodmark.limits import LIMITS
from floodmark.scalar.types import BIGINT, INT, VARCHAR, Field, list_of, map_of
from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark
SCHEMA = (
    Field("id", INT),
    Field("a", list_of(BIGINT)),
    Field("m", map_of(VARCHAR, BIGINT)),
    Field("city", VARCHAR),
)
NOT_ONE, NUL = "the line is not one JSON object", "the line holds a NUL byte"
ESCAPED = r"the line has \u0000 or half of a surrogate"
LINES = {
    '{"id": 1}': None,
    "\0": NUL,
    '{"id": 1, "city": "a\0b"}': NUL,
    "null": NOT_ONE,
    "[]": NOT_ONE,
    "NaN": NOT_ONE,
    "01": NOT_ONE,
    '{"id": 1,}': NOT_ONE,
    '{"id": 1} {"id": 2}': NOT_ONE,
    '{"a": [1}': NOT_ONE,
    '{"id": NaN}': NOT_ONE,
    '{"city": "\\u0000"}': ESCAPED,
    '{"city": "\\ud800"}': ESCAPED,
    '{"city": "\\\\u0000"}': None,
    '{"id": 1, "a": ["x"]}': "a: '[\"x\"]' is not bigint[]",
    '\t{"id": 1, "a": {"x": 1}}': "a: '{\"x\":1}' is not bigint[]",
    '{"m": {"k": "v"}, "a": [1]}': 'm: \'{"k":"v"}\' is not map(character varying, bigint)',
    '{"id": "x", "a": [1]}': "id: 'x' is not integer",
}


def reasons(folder: Path, sessions: Sessions, form: str, lines: list[str]) -> list[str | None]:
    (folder / "a.json").write_text("\n".join(lines) + "\n")
    options = {"connector": "files", "path": str(folder)}
    connector = make_connector(
        SourceSpec("s", SCHEMA, form, "JSON", options, (), ("id",)), limits=LIMITS
    )
    found = (
        connector.read_splits(sessions.ingest, connector.discover_splits({}, 100))
        .toArrow()
        .to_pylist()
    )
    return [row["__reason"] for row in sorted(found, key=lambda row: row["__offset"])]


def test_what_a_line_is_said_to_be(tmp_path: Path, sessions: Sessions) -> None:
    found = reasons(tmp_path, sessions, "PLAIN", list(LINES))
    assert dict(zip(LINES, found, strict=True)) == LINES


@pytest.mark.parametrize("form", ["DEBEZIUM", "UPSERT"])
def test_what_a_message_is_said_to_be(tmp_path: Path, sessions: Sessions, form: str) -> None:
    wrapped = (
        '{"op": "c", "after": %s}' if form == "DEBEZIUM" else '{"key": {"id": 1}, "value": %s}'
    )
    lines = {
        wrapped % '{"id": 1, "city": "x"}': None,
        wrapped % '{"id": 1, "city": "\\u0000"}': ESCAPED,
        wrapped % '{"id": 1, "city": "a\0b"}': NUL,
        wrapped % '{"id": 1': NOT_ONE,
        "[]": NOT_ONE,
    }
    assert dict(zip(lines, reasons(tmp_path, sessions, form, list(lines)), strict=True)) == lines
    (only,) = reasons(tmp_path, sessions, "DEBEZIUM", ['{"op": "x"}'])
    assert only == "the line is not one message of this format"
