"""The groups of an aggregate in runs: what epochs changed is beside what they would rewrite."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from floodmark.api import Floodmark
from floodmark.changelog import EPOCH
from floodmark.limits import Limits
from floodmark.scalar.types import Schema
from floodmark.tables.tables import Writer
from floodmark.tools.equivalence import compare
from tests.warehouses import Site

pytestmark = pytest.mark.spark

_LAYERED = Limits(layer_bytes=0, layer_rows=0, layer_factor=0)
"""A run of whatever touches a file."""
_PIPELINE = """
CREATE TABLE t (k INT PRIMARY KEY, g VARCHAR, h INT, v INT);
CREATE MATERIALIZED VIEW distinct_values AS
    SELECT h, count(DISTINCT v) AS n, count(DISTINCT g) AS groups FROM t GROUP BY h;
CREATE MATERIALIZED VIEW joined AS
    SELECT t.k, s.total, s.n FROM t JOIN (
        SELECT g, sum(v) AS total, count(*) AS n FROM t GROUP BY g HAVING count(*) > 1
    ) AS s ON t.g = s.g;
"""
_WITHOUT_KEY = """
CREATE MATERIALIZED VIEW of_all AS SELECT k, n FROM t CROSS JOIN (SELECT count(*) AS n FROM t) AS s;
"""
_VIEWS = ("distinct_values", "joined")


def _files(fm: Floodmark) -> dict[str, tuple[int, int]]:
    """Return how many files and how many runs each state table with groups has."""
    versions = {t: v for r in fm.status().values() for t, v in r.versions.items()}
    handles = [fm.store.open(t, v) for t, v in versions.items() if t.startswith("_state/")]
    grouped = [h for h in handles if any(f.name == EPOCH for f in h.schema)]
    runs = {h.table: sum(EPOCH in f.high for f in h.files) for h in grouped}
    return {h.table: (len(h.files) - runs[h.table], runs[h.table]) for h in grouped}


def _unequal(fm: Floodmark) -> list[str]:
    views = [view for view in (*_VIEWS, "of_all") if view in fm.deployed.pipeline.objects]
    return [view for view, found in compare(fm, views).items() if found.rows]


def _insert(first: int, count: int, random: Random) -> str:
    def value(text: object) -> str:
        return "NULL" if random.random() < 0.2 else str(text)

    rows = (
        f"({k}, {value(repr(random.choice('abcdefgh')))}, {random.randrange(3)},"
        f" {value(random.randrange(6))})"
        for k in range(first, first + count)
    )
    return f"INSERT INTO t VALUES {', '.join(rows)}"


@pytest.mark.parametrize("in_process", [True, pytest.param(False, marks=pytest.mark.long)])
def test_groups_in_runs_are_those_of_the_query(
    site: Site, monkeypatch: pytest.MonkeyPatch, in_process: bool
) -> None:
    monkeypatch.setenv("FLOODMARK_IN_PROCESS", str(in_process).lower())
    site.define(_PIPELINE, _WITHOUT_KEY)
    random, most, folded = Random(7), dict[str, int](), set[str]()
    with site.connect(limits=_LAYERED) as fm:
        fm.execute(_insert(0, 60, random))
        for first in range(60, 90, 10):
            for statement in (
                _insert(first, 4, random),
                f"UPDATE t SET v = v + 1, g = 'a' WHERE k % 11 = {random.randrange(11)}",
                # Groups go, and some come again.
                f"DELETE FROM t WHERE g = '{random.choice('abcdefgh')}' AND k > 3",
            ):
                fm.execute(statement)
                assert not _unequal(fm), statement
                for table, (_, runs) in _files(fm).items():
                    if runs < most.get(table, 0):
                        folded.add(table)
                    most[table] = max(runs, most.get(table, 0))
        assert not any(fm.warehouse.log.suspensions())
        keyed = {table for table, runs in most.items() if runs}
        assert len(keyed) == len(most) - 1 == 3 and folded == keyed, (most, folded)
        fm.warehouse.limits = replace(_LAYERED, compact_fewest=2)
        before = _files(fm)
        fm.maintain()
        after = _files(fm)
        assert not _unequal(fm)
        assert all(bool(runs) == bool(after[table][1]) for table, (_, runs) in before.items())
        assert all(files for files, _ in after.values()), "runs are merged with runs alone"
        fm.execute("DELETE FROM t WHERE k > 1")
        fm.execute("DELETE FROM t")
        fm.execute(_insert(0, 20, random))
        assert not _unequal(fm)


def test_runs_are_begun_in_a_warehouse_without_and_left_by_others(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of groups that was made without the column of runs gets it with its first run."""
    site.define(_PIPELINE)
    random, commit = Random(1), Writer.commit

    def without_epochs(writer: Writer, table: str, schema: Schema, *args: Any, **kw: Any) -> Any:
        if table.startswith("_state/"):
            schema = tuple(f for f in schema if f.name != EPOCH)
        return commit(writer, table, schema, *args, **kw)

    with site.connect(limits=replace(_LAYERED, layer_rows=2**40, layer_bytes=2**40)) as fm:
        monkeypatch.setattr(Writer, "commit", without_epochs)
        for first in (0, 30):
            fm.execute(_insert(first, 30, random))
        assert not _files(fm)
        monkeypatch.setattr(Writer, "commit", commit)
        fm.warehouse.limits = _LAYERED
        fm.execute("UPDATE t SET v = v + 1 WHERE k < 5")
        assert {runs for _, runs in _files(fm).values()} == {1}
        assert not _unequal(fm)
        fm.warehouse.limits = replace(_LAYERED, layer_rows=2**40, layer_bytes=2**40)
        fm.execute("UPDATE t SET v = v + 1 WHERE k < 7")
        fm.execute("DELETE FROM t WHERE k < 7")
        assert not _unequal(fm)
