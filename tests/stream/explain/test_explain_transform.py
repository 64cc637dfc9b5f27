"""EXPLAIN of a source with TRANSFORM USING, as data and for a page; its text is in the goldens."""

from __future__ import annotations

import json

from floodmark.stream.explain.explain import explain_object
from tests.program_reference import compile_sql

SOURCE = """
CREATE SOURCE s (id INT, n INT, ts TIMESTAMPTZ, until TIMESTAMPTZ)
WITH (connector = 'files', path = 'p') FORMAT PLAIN ENCODE JSON
TRANSFORM USING (
    SELECT id, n + 1 AS more FROM s
    WHERE n > 0 AND ts <= now() AND now() < until AND now() < ts + INTERVAL '1 day'
);
CREATE SOURCE plain (id INT) WITH (connector = 'files', path = 'p') FORMAT PLAIN ENCODE JSON
"""
PIPELINE = compile_sql(SOURCE)


def test_the_parts_are_data() -> None:
    found = json.loads(explain_object(PIPELINE["s"], PIPELINE).to_json())
    assert found["transform"] == {
        "Q_safemfp": {"columns": {"id": "id", "more": "n + 1"}, "where": "n > 0"},
        "Q_expiration": "least(until, ts + INTERVAL '1 day')",
        "Q_final": "ts",
        "stored": ["id", "more", "__row_id", "__lower", "__upper"],
        "not_stored": ["ts", "until"],
    }
    (connector,) = found["nodes"]
    assert connector["mode"] == "append-only" and found["result_details"][0] == "retract"
    assert [c["name"] for c in connector["columns"]] == ["id", "n", "ts", "until"]


def test_a_page_has_the_parts_too() -> None:
    page = explain_object(PIPELINE["s"], PIPELINE).to_html()
    for part in ("Q_safemfp", "Q_expiration  now() &lt; __upper", "Q_final"):
        assert part in page


def test_a_source_without_one_has_none() -> None:
    explained = explain_object(PIPELINE["plain"], PIPELINE)
    assert explained.as_dict()["transform"] is None and "Q_" not in str(explained)
