"""Every kind of dead letter says its code, its reason in words with the column, and its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from floodmark.errors import IntakeCode
from floodmark.scalar.functions.model import RowErrorCode
from tests.warehouses import NOW, Site

DEFINED = """
CREATE SOURCE timed (id INT NOT NULL, ts TIMESTAMP, v INT, WATERMARK FOR ts AS ts)
WITH (connector = 'files', path = '{landing}/timed', watermark.max_ahead = '1 hour')
FORMAT PLAIN ENCODE JSON;
CREATE SOURCE once (id INT PRIMARY KEY, v INT)
WITH (connector = 'files', path = '{landing}/once') FORMAT PLAIN ENCODE JSON;
CREATE SOURCE changed (id INT PRIMARY KEY, v INT)
WITH (connector = 'files', path = '{landing}/changed') FORMAT DEBEZIUM ENCODE JSON;
CREATE TABLE whole (id INT PRIMARY KEY, v INT NOT NULL);
CREATE SINK of_once INTO whole AS SELECT id, v FROM once;
CREATE TABLE merged (id INT PRIMARY KEY, v INT NOT NULL) ON CONFLICT DO UPDATE IF NOT NULL;
CREATE SINK to_merged INTO merged AS SELECT id, v FROM once;
CREATE TABLE marked (id INT, ts TIMESTAMP, WATERMARK FOR ts AS ts)
APPEND ONLY WITH (watermark.max_ahead = '1 hour');
CREATE SINK to_marked INTO marked AS SELECT id, CASE WHEN v = 1 THEN TIMESTAMP '2999-01-01' END
FROM once;
CREATE MATERIALIZED VIEW divided AS SELECT id, 10 / v AS q FROM once;
"""
LINES: dict[str, list[dict[str, Any]]] = {
    "timed": [
        {"id": None, "ts": "2013-01-01T00:00:00", "v": 1},
        {"id": 2, "v": 1},
        {"id": 3, "ts": "2999-01-01T00:00:00"},
        {"id": 4, "ts": "2013-01-01T00:00:00", "v": "abc"},
    ],
    "once": [{"id": 1, "v": 0}, {"id": 1, "v": 1}, {"id": 2, "v": 1}, {"id": 3}, {"id": None}],
    "changed": [
        {"op": "t"},
        {"op": "x", "after": {"id": 1}},
        {"op": "d", "before": None},
        {"op": "c", "after": {"id": None, "v": 1}},
        {"op": "c", "after": {"id": 1, "v": "abc"}},
    ],
}
SAID = {
    "timed": {
        ("E0652", "id: NULL is not allowed (NOT NULL)"),
        ("E0653", "ts: NULL is not a time (WATERMARK FOR ts)"),
        ("E0658", "ts: '2999-01-01 00:00:00' is not up to"),
        ("E0651", "v: 'abc' is not integer"),
    },
    "once": {
        ("E0654", "PRIMARY KEY (id): '{\"id\":1}' is not new: a row has this key"),
        ("E0652", "id: NULL is not allowed (NOT NULL)"),
    },
    "changed": {
        ("E0655", "op: 't' is not applied"),
        ("E0656", "op: not c, r, u or d"),
        ("E0657", "before: NULL is not a row"),
        ("E0652", "id: NULL is not allowed (NOT NULL)"),
        ("E0651", "v: 'abc' is not integer"),
    },
    "whole": {("E0652", "v: NULL is not allowed (NOT NULL)")},
    "merged": {("E0652", "v: NULL is not allowed (NOT NULL)")},
    "marked": {
        ("E0653", "ts: NULL is not a time (WATERMARK FOR ts)"),
        ("E0658", "ts: '2999-01-01 00:00:00' is not up to"),
    },
    "divided": {("E0621", "division by zero: 10 / v")},
}
PLACED = ("timed", "once", "changed")


def test_every_reason_has_words() -> None:
    for code in RowErrorCode:
        assert code.says and "_" not in code.says


@pytest.mark.spark
def test_letters_say_column_value_and_reason(site: Site) -> None:
    site.define(DEFINED)
    for name, lines in LINES.items():
        (site.landing / name).mkdir(parents=True)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (site.landing / name / "0.json").write_text(text)
    with site.connect() as fm:
        fm.advance(now=NOW)
        assert fm.warehouse.log.suspensions() == {}
        kinds = set()
        for name, wanted in SAID.items():
            rows = fm.execute(f"SELECT reason, message, place FROM {name}__dead_letter").rows
            assert len(rows) == len(wanted) or name in ("marked", "merged"), (name, rows)
            for code, said, place in rows:
                assert any(code == c and said.startswith(s) for c, s in wanted), (name, code, said)
                assert place or name not in PLACED, (name, code)
            kinds |= {code for code, _, _ in rows}
            assert kinds >= {code for code, _ in wanted}, (name, rows)
        assert kinds >= {code.text for code in IntakeCode}
