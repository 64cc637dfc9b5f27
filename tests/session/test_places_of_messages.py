"""Refusals quote what was written, at its place, and say the near way out; nothing runs."""

from __future__ import annotations

import pytest

from floodmark.errors import FloodmarkError
from floodmark.session.ddl.deployment import plan_statement
from floodmark.sql.parse import parse_statement
from floodmark.warehouse.deployed import Deployed
from tests.program_reference import compile_sql

DEPLOYED = """
CREATE TABLE t (k INT PRIMARY KEY, v INT);
CREATE TABLE u (k INT PRIMARY KEY, v INT);
CREATE TABLE c (k INT PRIMARY KEY, v INT) ON CONFLICT DO UPDATE SET k = EXCLUDED.k;
CREATE TABLE d (k INT PRIMARY KEY, n BIGINT) ON CONFLICT DO UPDATE FULL WITH VERSION COLUMN (n);
CREATE MATERIALIZED VIEW m AS SELECT k FROM t;
CREATE SINK s INTO u AS SELECT v AS k, count(*)::int FROM t GROUP BY v;
"""


@pytest.mark.parametrize(
    ("statement", "code", "place", "said"),
    [
        ("CREATE TABLE t AS SELECT k FROM u", "E0202", "t", '"t" exists already, as a table'),
        ("ALTER MATERIALIZED VIEW m AS SELECT k FROM nope", "E0201", "nope", "does not exist"),
        ("ALTER SINK s AS SELECT k, 1\nFROM nope", "E0201", "nope", "does not exist"),
        ("CREATE SINK x INTO nope\nAS SELECT k FROM t", "E0201", "nope", "does not exist"),
        ("CREATE SINK x INTO far.u\nAS SELECT k FROM u", "E0201", "far.u", "does not exist"),
        ("CREATE SINK x INTO u FROM nope", "E0201", "nope", "does not exist"),
        ("CREATE INDEX x ON nope (k)", "E0201", "nope", "does not exist"),
        ("DROP TABLE t", "E0205", "t", "is used by m, the sink s"),
        ("ALTER TABLE d DROP COLUMN n", "E0833", None, "ALTER TABLE … ON CONFLICT …"),
        ("ALTER TABLE u ON CONFLICT DO UPDATE SET v = 1", "E0705", None, "the sink s updates"),
        ("ALTER TABLE t SET (tll='1 day')", "E0750", "tll='1 day'", "no option tll"),
        ("ALTER TABLE t SET (static=true, tll=1, age=2)", "E0750", "tll=1", "no option tll"),
        ("ALTER TABLE t RESET (ttl)", "E0841", None, '"t" has no option ttl'),
        (
            "CREATE TABLE x (k INT PRIMARY KEY) ON CONFLICT DO UPDATE SET k = (SELECT 1)",
            "E0374",
            "(SELECT 1)",
            "cannot stand in ON CONFLICT",
        ),
    ],
)
def test_what_is_refused(statement: str, code: str, place: str | None, said: str) -> None:
    deployed = Deployed(1, compile_sql(DEPLOYED))
    with pytest.raises(FloodmarkError) as raised:
        plan_statement(parse_statement(statement), deployed)
    assert raised.value.code == code
    assert said in f"{raised.value.message} {raised.value.hint}"
    assert raised.value.span is not None
    assert place is None or raised.value.span.text == place
    assert raised.value.span.source is not None
