"""Changes that touch too much are kept over the rows, and folded into them after a seal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from floodmark.api import Floodmark
from floodmark.limits import Limits
from floodmark.storage.table import Conflict
from floodmark.tables import layout
from floodmark.tables.current import count_rows, current_rows
from floodmark.tables.keyed_rows import KEY, Narrow
from floodmark.tables.tables import Writer
from floodmark.tools.equivalence import Difference, compare
from tests.warehouses import Site

pytestmark = pytest.mark.spark

_PIPELINE = """
CREATE TABLE t (k INT PRIMARY KEY, g VARCHAR, v INT);
CREATE MATERIALIZED VIEW copied AS SELECT k, g, v FROM t WHERE v >= 0;
CREATE MATERIALIZED VIEW summed AS SELECT g, count(*) AS n, sum(v) AS total FROM t GROUP BY g;
CREATE MATERIALIZED VIEW joined AS
    SELECT copied.k, copied.v, summed.total FROM copied JOIN summed ON copied.g = summed.g;
CREATE MATERIALIZED VIEW best AS SELECT g, k, v FROM (
    SELECT *, row_number() OVER (PARTITION BY g ORDER BY v DESC, k) AS place FROM t
) WHERE place <= 2;
"""
_STATEMENTS = (
    "INSERT INTO t SELECT i, CASE WHEN i % 5 = 0 THEN NULL ELSE 'g' || (i % 4) END, i"
    " FROM generate_series(1, 40) AS s(i)",
    "UPDATE t SET v = v + 100 WHERE k % 3 = 0",
    "DELETE FROM t WHERE k % 4 = 0",
    "INSERT INTO t VALUES (4, 'g9', -1), (41, NULL, 5)",
    "UPDATE t SET g = 'g1' WHERE g IS NULL AND k > 10",
    "DELETE FROM t WHERE k < 5",
    "INSERT INTO t VALUES (3, 'g3', 7)",
)
_VIEWS = ("copied", "summed", "joined", "best")
_OBJECTS = ("t", *_VIEWS)


Rows = dict[str, list[tuple[object, ...]]]


_LAYERED = Limits(layer_bytes=0, layer_factor=0, layer_share=0)
"""Layer whatever touches a file, and fold when told to."""


def _layers(fm: Floodmark) -> dict[str, int]:
    """Return the rows of each object's layer."""
    sizes = [table for key in _OBJECTS for table in fm.sizes(key)]
    return {t.table.split("/")[-1]: t.rows or 0 for t in sizes if t.table.startswith("_layers/")}


def _rows(fm: Floodmark, at_epoch: int | None = None) -> Rows:
    """Return what a reader through the engine sees."""
    frames = {key: fm.sql(f"SELECT * FROM {key}", at_epoch=at_epoch) for key in _OBJECTS}
    return {key: sorted(map(tuple, frame.collect()), key=repr) for key, frame in frames.items()}


def _plain(site: Site) -> Rows:
    """Return what somebody else reads."""
    out: Rows = {}
    for key in _OBJECTS:
        rows = DeltaTable(site.root / "warehouse" / "public" / key).to_pyarrow_table().to_pylist()
        seen = (tuple(v for c, v in row.items() if not c.startswith("__")) for row in rows)
        out[key] = sorted(seen, key=repr)
    return out


def _counted(fm: Floodmark) -> dict[str, int | None]:
    pipeline, records = fm.deployed.pipeline, fm.status()
    return {key: count_rows(fm.store, pipeline[key], records[key]) for key in _OBJECTS}


def _unequal(fm: Floodmark) -> dict[str, Difference]:
    """Return the views that are not what their queries give."""
    return {view: d for view, d in compare(fm, _VIEWS).items() if d.rows}


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(_STATEMENTS[:4], id="some"),
        pytest.param(_STATEMENTS, id="all", marks=pytest.mark.long),
    ],
)
def test_rows_under_a_layer_are_those_of_the_query(site: Site, statements: Sequence[str]) -> None:
    site.define(_PIPELINE)
    seen: dict[int, Rows] = {}
    with site.connect(limits=_LAYERED) as fm:
        for statement in statements:
            fm.execute(statement)
            epoch = fm.warehouse.log.head().sealed
            seen[epoch] = _rows(fm)
            assert not _unequal(fm)
            assert _counted(fm) == {key: len(rows) for key, rows in seen[epoch].items()}
        assert set(_layers(fm)) == set(_OBJECTS)
        assert not any(fm.warehouse.log.suspensions())
        first = min(seen)
        assert _plain(site) == seen[first]

        report = fm.maintain()
        assert report.folded_files >= len(_OBJECTS)
        assert _plain(site) == _rows(fm) == seen[max(seen)]
        assert {epoch: _rows(fm, epoch) for epoch in seen} == seen
        assert _counted(fm) == {key: len(rows) for key, rows in seen[max(seen)].items()}

        fm.execute("UPDATE t SET v = 200 WHERE k = 39")
        assert not _unequal(fm)
        assert _plain(site) == seen[max(seen)] != _rows(fm)
        assert max(_layers(fm).values()) <= 24, "what was folded is in no layer"


def test_a_layer_is_folded_when_it_is_large_or_old(site: Site) -> None:
    site.define(_PIPELINE)
    with site.connect(limits=_LAYERED) as fm:
        fm.execute(_STATEMENTS[0])
        for limits in (replace(_LAYERED, layer_share=1000), replace(_LAYERED, layer_epochs=1)):
            fm.warehouse.limits = limits
            fm.execute("UPDATE t SET v = v + 1000 WHERE k % 3 = 0")
            assert _plain(site) == _rows(fm), limits
        fm.warehouse.limits = _LAYERED
        fm.execute("UPDATE t SET v = v + 1 WHERE k % 3 = 0")
        assert _plain(site) != _rows(fm)


def test_an_epoch_that_failed_behind_its_layer_is_done_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.define(_PIPELINE)
    commit = Writer.commit
    with site.connect(limits=_LAYERED) as fm:
        for statement in _STATEMENTS[:2]:
            fm.execute(statement)

        def failing(writer: Writer, table: str, *args: Any, **kwargs: Any) -> Any:
            if table == "_rows/public/copied" and writer.find_handle("_layers/public/copied"):
                raise Conflict("E0501", "planned")
            return commit(writer, table, *args, **kwargs)

        monkeypatch.setattr(Writer, "commit", failing)
        with pytest.raises(Conflict):
            fm.execute(_STATEMENTS[2])
        monkeypatch.setattr(Writer, "commit", commit)
        fm.warehouse.limits = replace(_LAYERED, layer_bytes=2**40)
        fm.advance()
        assert not _unequal(fm)
        fm.execute(_STATEMENTS[3])
        assert not _unequal(fm)


def test_a_layer_is_asked_for_its_newest_rows_alone(site: Site) -> None:
    """A row that had a value in a former version of the layer does not come back with it."""
    site.define("CREATE TABLE t (k INT PRIMARY KEY, g VARCHAR, v INT);")
    with site.connect(limits=_LAYERED) as fm:
        fm.execute("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
        for g in ("b", "c"):
            fm.execute(f"UPDATE t SET g = '{g}', v = v + 10 WHERE k = 1")
        obj = fm.deployed.pipeline["t"]
        rows = current_rows(fm.store, obj, fm.status()["t"])
        assert rows.layer_files
        for column, values, expected in (
            ("g", ["a"], []), ("g", ["b"], [(2, "b", 2)]), ("g", ["c"], [(1, "c", 21)]),
            ("k", [1], [(1, "c", 21)]),
        ):  # fmt: skip
            keys = pa.table({KEY: pa.array(values)})
            frame = site.sessions.main.createDataFrame(keys)
            narrow = Narrow(layout.current_schema(obj), {column: frame})
            found = rows.all_rows(fm.warehouse.tables, narrow=narrow)
            assert found is not None
            assert sorted(map(tuple, found.select("k", "g", "v").collect())) == expected
