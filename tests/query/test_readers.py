"""Tables are ordinary Delta tables: other readers see what a query through the engine sees."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from floodmark.api import connect
from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    NOW,
    READINGS,
    SUNK,
    WINDOWED,
    Site,
    put,
    readings,
    visible,
)

pytestmark = pytest.mark.spark


def test_other_readers_see_the_same_rows(site: Site, spark: SparkSession) -> None:
    site.define(READINGS, NAMES, JOINED, GROUPED, WINDOWED, SUNK)
    with site.connect() as fm:
        fm.execute("INSERT INTO d VALUES ('a', 'Alpha'), ('c', 'Gamma')")
        for number in (0, 1):
            put(site.landing, str(number), readings(number * 15, 15))
            fm.advance(now=NOW)
        for name in ("s", "d", "j", "st", "h", "t"):
            result = fm.execute(f"SELECT * FROM {name}")
            rows = sorted(result.rows, key=repr)
            assert rows, name
            assert visible(site.root / "warehouse", name) == rows, name
            names = [c.name for c in result.columns]
            folder = str(site.root / "warehouse" / "public" / name)
            frame = spark.read.format("delta").load(folder)
            assert frame.columns == names
            read = [tuple(row) for row in frame.select(*names).collect()]
            assert sorted(read, key=repr) == rows, name


def test_a_pinned_epoch_reads_as_it_was(site: Site) -> None:
    site.define(READINGS, GROUPED)
    with site.connect() as fm:
        for number in (0, 1):
            put(site.landing, str(number), readings(number * 15, 15))
            fm.advance(now=NOW)
        head = fm.warehouse.log.head().sealed
        first = fm.sql("SELECT k, n FROM st", at_epoch=head - 1).collect()
        pinned = fm.warehouse.log.seal_record(head - 1).objects["st"].versions["_rows/public/st"]
        folder = str(site.root / "warehouse" / "_rows" / "public" / "st")
        rows = DeltaTable(folder, version=pinned).to_pyarrow_table().to_pylist()
        assert {(r["k"], r["n"]) for r in rows} == {tuple(r) for r in first}
        assert sum(r["n"] for r in rows) < sum(n for _, n, *_ in visible(
            site.root / "warehouse", "st"))  # fmt: skip


def test_columns_of_the_engine_give_way_to_those_of_the_object(site: Site) -> None:
    with connect(site.root / "warehouse", sessions=lambda: site.sessions) as fm:
        fm.execute('CREATE TABLE ev (kind TEXT PRIMARY KEY, "Epoch" INT, watermark INT)')
        fm.execute("INSERT INTO ev VALUES ('click', 7, 9)")
        changes = fm.execute("SELECT * FROM ev__changes")
        assert [c.name for c in changes.columns] == [
            "changelog_epoch", "changelog_kind", "kind", "Epoch", "watermark"
        ]  # fmt: skip
        assert changes.rows == ((2, "+I", "click", 7, 9),)
        late = fm.execute("SELECT * FROM ev__late")
        assert [c.name for c in late.columns][3:] == ["changelog_epoch", "changelog_watermark"]
        assert fm.execute("SELECT * FROM ev__dead_letter").rows == ()
        assert fm.changes("ev", 1).count() == 1
        assert fm.changes("ev", 1).columns[:2] == ["__epoch", "__kind"]
        assert fm.changes("ev", 2).count() == 0
