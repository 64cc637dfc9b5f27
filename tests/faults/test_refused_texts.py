"""Texts at rest that are not read: what they write and read, as far as their words tell."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from floodmark.catalog.objects import CatalogObject, ObjectKind, Relation
from floodmark.changelog import ChangelogMode
from floodmark.errors import UserError
from floodmark.session.ddl.deployment import plan_statement
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_statement
from floodmark.storage.logs.catalog import AppliedStatement, CatalogVersion
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.warehouse.deployed import Deployed, load, statements_of

START = datetime(2024, 1, 1, tzinfo=UTC)
TABLE = {"t": "CREATE TABLE t (k INT PRIMARY KEY, v INT)"}


class NothingStored:
    """Tables at rest of a warehouse without rows."""

    def relation(self, obj: CatalogObject) -> Relation:
        """Return a relation without columns."""
        return Relation(obj.key, obj.kind, (), (), ChangelogMode.APPEND_ONLY)

    def states_left(self, obj: AnalysedObject) -> tuple[str, ...]:
        """Return no state."""
        return ()


def restored(**defined: str) -> Deployed:
    """Return definitions as they are read from the log of a sealed version."""
    said = {re.sub("^(sink|function)__", r"\1:", key): sql for key, sql in defined.items()}
    logged = tuple(AppliedStatement(sql, None, "statement", key) for key, sql in said.items())
    version = CatalogVersion(1, 1, logged, START, {})
    return load(version, at_rest=NothingStored())


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("CREATE SINK x INTO t AS SELECT FROM WHERE", "t"),
        ('create sink if not exists x /* all\nof it */ INTO -- here\n "t" FROM BY', "t"),
        ("CREATE SINK x INTO gone AS SELECT FROM WHERE", None),
        ("CREATE SINK x FROM t WITH (path = '/put/into t') BY", None),
        ("CREATE SINK x FROM t /* put into t */ BY", None),
    ],
)
def test_an_unread_sink_writes_the_table_that_it_names(text: str, target: str | None) -> None:
    deployed = restored(**TABLE, sink__x=text)
    obj = deployed.pipeline["sink:x"]
    assert obj.kind is ObjectKind.SINK and obj.refused is not None
    assert obj.object.target == target
    assert deployed.pipeline["t"].feeders == (() if target is None else ("sink:x",))
    assert (obj in deployed.pipeline.writing_objects) == (target is None)


def test_an_unread_object_reads_what_its_words_name() -> None:
    deployed = restored(
        **TABLE,
        other="CREATE TABLE other (k INT PRIMARY KEY)",
        function__f="CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE sql AS 'SELECT a'",
        function__k="CREATE FUNCTION k(a INT) RETURNS INT LANGUAGE sql AS 'SELECT a'",
        m='CREATE MATERIALIZED VIEW m AS SELECT f(k) FROM "t" JOIN other WHERE FROM w',
        w="CREATE MATERIALIZED VIEW w AS SELECT * FROM m",
        unread="CREATE TABLE unread (other INT PRIMARY KEY, t NO",
        s__t="CREATE TABLE s.t (k INT",
    )
    catalog = deployed.catalog
    assert catalog.objects["m"].reads == ("t", "other", "function:f")
    assert catalog.objects["unread"].reads == ()
    assert deployed.pipeline["m"].refused is not None
    assert (deployed.pipeline["w"].opaque, deployed.pipeline["w"].refused) == (True, None)
    assert {*catalog.dependents("t")} == {*catalog.dependents("function:f")} == {"m", "w"}


def test_what_an_unread_text_names_keeps_its_name_and_stays() -> None:
    deployed = restored(**TABLE, m="CREATE VIEW m AS SELECT k FROM t WHERE")
    for sql in ("ALTER TABLE t RENAME TO u", "DROP TABLE t"):
        statement = parse_statement(sql)
        assert isinstance(statement, s.Alter | s.Drop)
        with pytest.raises(UserError):
            plan_statement(statement, deployed)


def test_what_is_restored_again_is_the_same() -> None:
    unread = "CREATE MATERIALIZED VIEW m AS SELECT k FROM t WHERE"
    before = restored(**TABLE, m=unread)
    version = CatalogVersion(2, 2, tuple(statements_of(before.catalog)), START, {})
    after = load(version, before)
    assert all(after.catalog.objects[k] is o for k, o in before.catalog.objects.items())
    assert all(after.pipeline[k] is o for k, o in before.pipeline.objects.items())


def test_an_unread_aggregate_is_one() -> None:
    deployed = restored(function__mid="CREATE AGGREGATE mid(v INT) RETURNS NO LANGUAGE BY")
    statement = parse_statement("DROP AGGREGATE mid")
    assert isinstance(statement, s.Drop)
    plan = plan_statement(statement, deployed)
    assert plan is not None and not plan.catalog.objects


def test_a_source_that_is_not_split_any_more_keeps_what_it_stores() -> None:
    split = (
        "CREATE SOURCE s (k INT, v INT) WITH (connector = 'files', path = '/in') "
        "FORMAT PLAIN ENCODE PARQUET "
        "TRANSFORM USING (SELECT middle(v) AS m FROM s) WITH (split = true)"
    )
    deployed = restored(
        function__middle="CREATE AGGREGATE middle(v INT) RETURNS NO LANGUAGE BY",
        s__stored=split,
        s=split,
    )
    assert {"s", "s__stored"} <= deployed.catalog.objects.keys()
    assert deployed.pipeline["s__stored"].refused is not None
