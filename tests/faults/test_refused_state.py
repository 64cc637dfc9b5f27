"""Objects at rest whose plan has other state tables than they have: no rows in them are lost."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from floodmark.errors import FloodmarkError, NotSupported
from floodmark.scalar.types import INT, Field
from floodmark.session.ddl.deployment import plan_statement
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_statement
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.logs.catalog import AppliedStatement, CatalogVersion
from floodmark.storage.logs.object_record import ObjectRecord
from floodmark.tables import layout
from floodmark.tables.current import CurrentRows
from floodmark.tables.cut import Cut
from floodmark.tables.stored_relation import StoredTables
from floodmark.warehouse.changes import changes_between
from floodmark.warehouse.deployed import Deployed, load, statements_of
from floodmark.warehouse.refusal_events import refusal_event
from floodmark.warehouse.suspensions import remedy

DEFINED = {
    "t": "CREATE TABLE t (k INT PRIMARY KEY, v INT)",
    "v": "CREATE MATERIALIZED VIEW v AS SELECT t.k, u.v FROM t JOIN t AS u ON t.v = u.k + 1",
    "w": "CREATE MATERIALIZED VIEW w AS SELECT k FROM v",
    "i": "CREATE TABLE i (k INT PRIMARY KEY, n BIGINT)",
    "sink:ss": "CREATE SINK ss INTO i AS SELECT v % 2 AS k, count(*) AS n FROM t GROUP BY 1",
    "again": "CREATE MATERIALIZED VIEW again WITH (refresh = 'full') AS SELECT k FROM t",
}


def _version(number: int = 1, **changed: str) -> CatalogVersion:
    said = DEFINED | changed
    defined = tuple(AppliedStatement(sql, None, "statement", key) for key, sql in said.items())
    return CatalogVersion(number, number, defined, datetime(2024, 1, 1, tzinfo=UTC), {})


def _at_rest(tmp_path: Path, more: dict[str, str]) -> StoredTables:
    """Return records in which each object has the state of its plan, and some one more."""
    pipeline, records = load(_version()).pipeline, dict[str, ObjectRecord]()
    for obj in pipeline.objects.values():
        owners = (obj, *(pipeline[key] for key in obj.feeders))
        tables = [t for owner in owners for t in layout.state_tables(owner)]
        tables += [layout.state_table(o, more[o.key]) for o in owners if o.key in more]
        records[obj.key] = ObjectRecord(
            obj.key, {layout.current_table(obj): 1} | dict.fromkeys(tables, 1)
        )
    return StoredTables(DeltaStore(tmp_path), records)


def _opaque(deployed: Deployed) -> set[str]:
    return {obj.key for obj in deployed.pipeline.objects.values() if obj.opaque}


def test_what_is_at_rest_as_planned_goes_on(tmp_path: Path) -> None:
    assert not _opaque(load(_version(), at_rest=_at_rest(tmp_path, {})))
    # A view that is recomputed reads no state.
    assert not _opaque(load(_version(), at_rest=_at_rest(tmp_path, {"again": "r1"})))


@pytest.mark.parametrize(("key", "waits"), [("v", {"w"}), ("sink:ss", set())])
def test_a_state_table_without_a_plan_suspends(tmp_path: Path, key: str, waits: set[str]) -> None:
    deployed = load(_version(), at_rest=_at_rest(tmp_path, {key: "r99"}))
    assert _opaque(deployed) == {key} | waits
    refused = deployed.pipeline[key].refused
    assert isinstance(refused, NotSupported) and refused.code == "E0855"
    assert "r99" in refused.message


def test_another_query_is_computed_anew(tmp_path: Path) -> None:
    before = load(_version(), at_rest=_at_rest(tmp_path, {"v": "r99"}))
    after = load(_version(2, v=DEFINED["v"] + " AND t.k > 0"), before)
    assert not _opaque(after)
    changes = {c.key: c.action for c in changes_between(before.pipeline, after.pipeline)}
    assert changes == {"v": "rebuild", "w": "rebuild"}


def _after(known: Deployed, sql: str) -> tuple[dict[str, str], Deployed]:
    """Return what a statement is planned to do, and what is in force when that is logged."""
    plan = plan_statement(parse_statement(sql), known)
    assert plan is not None
    number, time = known.version + 1, datetime(2024, 1, 1, tzinfo=UTC)
    logged = CatalogVersion(number, number, tuple(statements_of(plan.catalog)), time, {})
    planned = {c.key: c.action for c in plan.changes}
    after = load(logged, known)
    found = {c.key: c.action for c in changes_between(known.pipeline, after.pipeline)}
    assert found == planned, "what is logged does what was told"
    return planned, after


@pytest.mark.parametrize("normal", [False, True])
def test_the_same_query_is_computed_anew_where_a_statement_says_it(
    tmp_path: Path, normal: bool
) -> None:
    text = to_sql(parse_statement(DEFINED["v"])) if normal else DEFINED["v"]
    known = load(_version(v=text), at_rest=_at_rest(tmp_path, {"v": "r99"}))
    refused = known.pipeline["v"].refused
    assert refused is not None and refused.hint is not None
    assert refused.hint.startswith("ALTER MATERIALIZED VIEW v AS the same query")
    query = text[text.index("SELECT") :]
    changes, after = _after(known, f"ALTER MATERIALIZED VIEW v AS {query}")
    assert changes == {"v": "rebuild", "w": "rebuild"}
    assert not _opaque(after)


def test_drop_and_create_lift_it(tmp_path: Path) -> None:
    known = load(_version(), at_rest=_at_rest(tmp_path, {"v": "r99", "sink:ss": "r99"}))
    sink = known.pipeline["sink:ss"].refused
    assert sink is not None and sink.hint == "DROP SINK ss and CREATE it again: the rows of i stay"
    _, known = _after(known, "DROP MATERIALIZED VIEW v CASCADE")
    _, known = _after(known, "DROP SINK ss")
    for key in ("v", "w", "sink:ss"):
        changes, known = _after(known, DEFINED[key])
        assert changes == {key: "create"}
    assert not _opaque(known)


def test_a_refused_definition_is_not_lifted_by_its_own_query(tmp_path: Path) -> None:
    text = "CREATE MATERIALIZED VIEW v AS SELECT gone FROM t"
    known = load(_version(v=text), at_rest=_at_rest(tmp_path, {}))
    for said in ("AS SELECT gone FROM t", "TO TABLE"):
        with pytest.raises(FloodmarkError, match="gone"):
            plan_statement(parse_statement(f"ALTER MATERIALIZED VIEW v {said}"), known)
    with pytest.raises(FloodmarkError, match="gone"):
        plan_statement(parse_statement("ALTER MATERIALIZED VIEW w TO TABLE"), known)


def test_status_tells_what_lifts_it(tmp_path: Path) -> None:
    found = load(_version(), at_rest=_at_rest(tmp_path, {"v": "r99", "sink:ss": "r99"})).pipeline
    for key, home in (("v", "v"), ("sink:ss", "i"), ("sink:ss", "sink:ss")):
        refused = found[key].refused
        event = refusal_event(found[key], Cut(), datetime(2024, 1, 1, tzinfo=UTC))
        assert refused is not None and (refused.hint or "?") in remedy(found[home], event)


def test_all_state_of_what_is_refused_goes_with_it(tmp_path: Path) -> None:
    obj = load(_version(), at_rest=_at_rest(tmp_path, {"v": "r99"})).pipeline["v"]
    store = DeltaStore(tmp_path)
    names = (
        layout.current_table(obj),
        layout.state_table(obj, "r1"),
        layout.state_table(obj, "r99"),
    )
    for name in (*names, "_state/public/w/r1"):
        store.create(name, (Field("k", INT),))
    assert {*layout.tables_of(obj, store)} == {*names}


@pytest.mark.parametrize(
    ("text", "needs"),
    [("(shuttle INT, k NO", False), ("(k NO) WITH (ttl = '1 day'", True), ("(k) TTL_COLUMN", True)],
)
def test_rows_that_end_need_the_definition(tmp_path: Path, text: str, needs: bool) -> None:
    obj = load(_version(t=f"CREATE TABLE t {text}"), at_rest=_at_rest(tmp_path, {})).pipeline["t"]
    handle = DeltaStore(tmp_path).create(layout.current_table(obj), (Field("k", INT),))
    assert CurrentRows(obj, handle).needs_definition is needs
