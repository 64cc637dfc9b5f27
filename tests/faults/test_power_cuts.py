"""A durable warehouse after a power cut: what was said to be done is there, whenever it comes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from floodmark import failpoints
from floodmark.api import Floodmark
from floodmark.epochs.backfill.choice import VARIABLE as BACKFILL_BYTES
from floodmark.spark.session import Sessions
from floodmark.storage.logs.catalog import CatalogLog
from tests.power_cut import Disk
from tests.sinks_outside import of_epochs, of_table
from tests.warehouses import GROUPED, NAMES, NOW, READINGS, Site, put, readings, rows_at_rest

pytestmark = pytest.mark.spark

SINKS = """
CREATE SINK rows_of AS SELECT id, k FROM s WHERE v > 2
    WITH (connector = 'files', path = '{out}/rows') FORMAT PLAIN ENCODE JSON;
CREATE SINK keyed AS SELECT k, count(*) AS n FROM s GROUP BY k
    WITH (connector = 'delta', path = '{out}/keyed', type = 'upsert');
"""
LOGGED = ("change_logged", "offsets_logged", "backfill_step_logged", "backfill_ready", "after_seal")
"""The points of a program right behind something that was logged."""
DATA = ("s", "d", "c", "e", "st")


def test_a_durable_warehouse_outlives_a_power_cut(
    tmp_path: Path, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, disk = Site(tmp_path, sessions), Disk(tmp_path, monkeypatch)
    root, out = site.root / "warehouse", site.root / "out"
    cuts: dict[str, Path] = {}
    reached = Counter[str]()

    def cut(name: str) -> None:
        if name in LOGGED:
            reached[name] += 1
            cuts[f"{name}-{reached[name]}"] = disk.copy(root, tmp_path / f"{name}-{reached[name]}")

    monkeypatch.setattr(failpoints, "reach", cut)
    monkeypatch.setenv(BACKFILL_BYTES, "0")
    site.define(READINGS, NAMES, SINKS.replace("{out}", str(out)))
    put(site.landing, "0", readings(0, 20))
    with site.connect(durable=True) as fm:
        fm.deploy(site.pipelines)
        fm.advance(now=NOW)
        fm.execute("INSERT INTO d VALUES ('a', 'first'), ('b', 'second')")
        (first,) = fm.execute("SELECT count(*) FROM s").rows
        before = reached["change_logged"]
        fm.execute("CREATE TABLE c WITH (continuous = false) AS SELECT id, k FROM s")
        filled = cuts[f"change_logged-{before + 1}"]
        fm.execute(GROUPED)
        put(site.landing, "1", readings(20, 20))
        fm.advance(now=NOW)
        fm.execute("UPDATE d SET name = 'third' WHERE k = 'a'")
        fm.execute("CREATE TABLE e (k INT)")
        rows = {name: rows_at_rest(root, f"public/{name}") for name in DATA}
        assert (len(rows["c"]),) == first and rows["st"]
    lost: dict[str, list[str]] = {}
    for name, left in cuts.items():
        with site.connect(left.name) as fm:
            found = fm.verify() if fm.warehouse.log.head().sealed else ()
            lost[name] = [*_missing(fm), *(f.message for f in found)]
    assert {name: what for name, what in lost.items() if what} == {}
    assert {name.partition("-")[0] for name in cuts} == set(LOGGED)
    monkeypatch.undo()
    # The power is cut when the table's definition is logged, and when all is done.
    with site.connect(filled.name) as fm:
        fm.execute("INSERT INTO c VALUES (-1, 'z')")
        assert fm.execute("SELECT count(*) FROM c").rows == ((first[0] + 1,),)
    left = disk.copy(root, tmp_path / "left")
    with site.connect("left") as fm:
        assert [*fm.verify()] == []
        assert not fm.loop.has_new(now=NOW) and not fm.warehouse.log.suspensions()
        fm.execute("INSERT INTO e VALUES (1)")
        assert rows_at_rest(left, "public/e") == ["{'k': 1}"]
    assert {n: rows_at_rest(left, f"public/{n}") for n in DATA if n != "e"} | {"e": []} == rows
    kept = disk.copy(out, tmp_path / "outside")
    assert of_epochs(kept / "rows") == of_epochs(out / "rows")
    assert of_table(kept / "keyed") == of_table(out / "keyed")


def _missing(fm: Floodmark) -> list[str]:
    """Return the files of statements' rows that records name and that are empty or not there."""
    log, named = fm.warehouse.log, list[str]()
    for epoch in log.epochs():
        named += [path for entry in log.open_record(epoch).dml for path in entry["paths"]]
    for version in CatalogLog(fm.root).versions():
        named += [path for entry in version.dml for path in entry["paths"]]
    return [path for path in named if not (Path(path).exists() and Path(path).stat().st_size)]
