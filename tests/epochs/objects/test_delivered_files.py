"""Parquet files that a source takes over as they are, and those that it has to write anew."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import floodmark
from floodmark import Floodmark
from floodmark.connectors.base import Split
from floodmark.connectors.files.parquet_delivery import storable
from floodmark.epochs.maintenance import compacting
from floodmark.limits import LIMITS
from floodmark.scalar.types import BIGINT, TIMESTAMP, VARCHAR, Field, numeric
from floodmark.spark.session import Sessions
from floodmark.storage.files.imported_files import is_delivered
from floodmark.tables.tables import Tables
from tests.warehouses import dying_at

START = datetime(2024, 1, 1)
SOURCE = """
CREATE SOURCE s (k BIGINT, t VARCHAR, ts TIMESTAMP, n NUMERIC(10, 2),
  WATERMARK FOR ts AS ts - INTERVAL '5 seconds')
WITH (connector = 'files', path = '{folder}') FORMAT PLAIN ENCODE PARQUET
"""


COLUMNS = (
    Field("k", BIGINT), Field("t", VARCHAR), Field("ts", TIMESTAMP), Field("n", numeric(10, 2)),
)  # fmt: skip


def split_of(path: Path, count: int) -> Split:
    """Return the split of a whole file, as a listing pins it."""
    found = path.stat()
    payload = {"file": path.name, "size": found.st_size, "mtime": found.st_mtime_ns}
    return Split(0, 0, count, count, {**payload, "row": 0, "rows": count})


def rows(first: int, count: int = 20) -> dict[str, Any]:
    numbers = range(first, first + count)
    times = [START + timedelta(seconds=i) for i in numbers]
    return {
        "k": list(numbers),
        "t": [f"text {i % 3}" for i in numbers],
        "ts": pa.array(times, pa.timestamp("us")),
        "n": pa.array([Decimal(i) / 4 for i in numbers], pa.decimal128(10, 2)),
    }


@pytest.fixture
def fm(tmp_path: Path, sessions: Sessions) -> Iterator[Floodmark]:
    with floodmark.connect(tmp_path / "warehouse", sessions=lambda: sessions) as opened:
        yield opened


def land(folder: Path, name: str, columns: dict[str, Any], **options: Any) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / name, **options)


def taken(fm: Floodmark) -> list[bool]:
    """Tell of each file of the source whether it was taken over, in the order of epochs."""
    files = sorted(fm.store.open("_rows/public/s").files, key=lambda f: f.low["__row_id"])
    return [is_delivered(file) for file in files]


@pytest.mark.spark
def test_what_is_taken_over_reads_as_what_is_written(fm: Floodmark, tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    fm.execute(SOURCE.format(folder=landing))
    fm.execute(
        "CREATE MATERIALIZED VIEW pairs AS SELECT a.k, b.t FROM s AS a JOIN s AS b ON a.k = b.k"
    )
    fm.execute(
        "CREATE MATERIALIZED VIEW last AS SELECT t, max(n) AS n, max(ts) AS ts FROM s GROUP BY t"
    )
    land(landing, "a.parquet", rows(0))
    land(landing, "b.parquet", rows(20))
    fm.advance()
    late = rows(40)
    late["ts"] = pa.array([START, *late["ts"].to_pylist()[1:]], pa.timestamp("us"))
    land(landing, "c.parquet", late)
    fm.advance()
    land(landing, "d.parquet", rows(60))
    fm.advance()
    assert taken(fm) == [True, True, False, True]
    for path in landing.iterdir():
        path.unlink()
    found = fm.execute("SELECT k, t, n, ts FROM s ORDER BY k").rows
    assert [row[0] for row in found] == [k for k in range(80) if k != 40]
    assert found[21] == (21, "text 0", Decimal("5.25"), START + timedelta(seconds=21))
    assert fm.execute("SELECT count(*), count(DISTINCT k) FROM pairs").rows == ((79, 79),)
    whole = fm.execute("SELECT t, max(n) AS n, max(ts) AS ts FROM s GROUP BY t ORDER BY t").rows
    assert fm.execute("SELECT * FROM last ORDER BY t").rows == whole
    outside = DeltaTable(str(tmp_path / "warehouse" / "public" / "s"))
    assert sorted(outside.to_pyarrow_table()["k"].to_pylist()) == [row[0] for row in found]


@pytest.mark.spark
def test_row_ids_and_epochs_are_those_of_written_rows(fm: Floodmark, tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    fm.execute(SOURCE.format(folder=landing))
    for i in range(12):
        land(landing, f"{i:02}.parquet", rows(20 * i), row_group_size=7)
        fm.advance()
    tables = Tables(fm.store, fm.sessions().main, limits=LIMITS)
    handle = fm.store.open("_rows/public/s")

    def ids() -> list[tuple[int, int, int]]:
        frame = tables.read(fm.store.open("_rows/public/s"), handle.schema)
        assert frame is not None
        return sorted((r["k"], r["__row_id"], r["__epoch"]) for r in frame.collect())

    before = ids()
    assert [(k, row) for k, row, _ in before] == [(i, i) for i in range(240)]
    first = before[0][2]
    assert [epoch - first for _, _, epoch in before] == [i // 20 for i in range(240)]
    assert compacting.compact(tables, "_rows/public/s") == 12
    assert ids() == before and taken(fm) == [False]


@pytest.mark.spark
@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_is_replaced_while_it_is_taken_over_is_not_stored(
    fm: Floodmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    landing = tmp_path / "landing"
    fm.execute(SOURCE.format(folder=landing))
    land(landing, "a.parquet", rows(0))
    take = fm.store.take

    def too_late(*arguments: Any) -> Any:
        (landing / "a.parquet").unlink()
        if replaced:
            land(landing, "a.parquet", rows(0) | {"k": pa.nulls(20, pa.int64())})
        return take(*arguments)

    monkeypatch.setattr(fm.store, "take", too_late)
    fm.advance()
    assert fm.execute("SELECT * FROM s").rows == ()
    assert fm.warehouse.log.suspensions()["s"].code == "E0476"


@pytest.mark.spark
@pytest.mark.parametrize("form", ["", ", PRIMARY KEY (k)"], ids=["without key", "with key"])
def test_files_that_are_stored_may_go_before_the_epoch_is_sealed(
    fm: Floodmark, tmp_path: Path, form: str
) -> None:
    landing = tmp_path / "landing"
    fm.execute(SOURCE.replace("'5 seconds'", f"'5 seconds'{form}").format(folder=landing))
    fm.execute("CREATE MATERIALIZED VIEW v AS SELECT t, count(*) AS n FROM s GROUP BY t")
    land(landing, "a.parquet", rows(0))
    fm.advance()
    late = rows(20)
    late["ts"] = pa.array([START, *late["ts"].to_pylist()[1:]], pa.timestamp("us"))
    land(landing, "b.parquet", late)

    with dying_at("view_committed"):
        fm.advance()
    (landing / "b.parquet").unlink()
    fm.advance()
    assert fm.warehouse.log.suspensions() == {}
    record = fm.status()["s"]
    assert (record.rows_in, record.rows_out, record.late_rows) == (20, 19, 1)
    assert record.watermarks == {"ts": START + timedelta(seconds=34)}
    assert fm.execute("SELECT count(*) FROM s").rows == ((39,),)
    assert fm.execute("SELECT sum(n) FROM v").rows == ((39,),)


@pytest.mark.spark
@pytest.mark.parametrize("form", [pa.int64(), pa.int32()], ids=["taken over", "written"])
def test_text_that_is_no_utf8_and_times_that_are_none_go_aside(
    fm: Floodmark, tmp_path: Path, form: pa.DataType
) -> None:
    landing = tmp_path / "landing"
    fm.execute(SOURCE.format(folder=landing))
    fm.execute("CREATE MATERIALIZED VIEW v AS SELECT t, ts, count(*) AS n FROM s GROUP BY t, ts")
    bad = pa.array([b"good", b"\xff\xfe"]).cast(pa.string(), safe=False)
    latin = rows(0, 2) | {"t": pa.Array.from_buffers(pa.string(), 2, bad.buffers())}
    times = pa.array([0, 2**62, -(2**62)], pa.int64()).cast(pa.timestamp("us"))
    land(landing, "a.parquet", latin | {"k": pa.array([1, 2], form)})
    land(landing, "b.parquet", rows(0, 3) | {"ts": times, "k": pa.array([3, 4, 5], form)})
    fm.advance()
    land(landing, "c.parquet", rows(20) | {"k": pa.array(range(20, 40), form)})
    fm.advance()
    assert fm.warehouse.log.suspensions() == {}
    assert fm.execute("SELECT count(*), min(k) FROM s").rows == ((21, 3),)
    assert fm.execute("SELECT sum(n) FROM v").rows == ((21,),)
    letters = fm.execute("SELECT reason, message FROM s__dead_letter ORDER BY message").rows
    assert [reason for reason, _ in letters] == ["E0651"] * 3
    said = [message for _, message in letters]
    assert all(m.startswith("ts: '") and m.endswith("' is outside of the years 1 to 9999")
               for m in said[:2])  # fmt: skip
    assert "a.parquet cannot be read: column t: " in said[2]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("k", pa.array(range(20), pa.int32())),
        ("ts", pa.array([START] * 20, pa.timestamp("ms"))),
        ("ts", pa.array([START] * 20, pa.timestamp("us", "Europe/Berlin"))),
        ("t", pa.array(["x"] * 20).dictionary_encode()),
        ("n", pa.array([Decimal(1)] * 20, pa.decimal128(9, 2))),
        ("more", pa.array(range(20))),
    ],
)
def test_other_types_and_columns_are_not_taken_over(
    tmp_path: Path, column: str, values: pa.Array
) -> None:
    land(tmp_path, "plain.parquet", rows(0))
    land(tmp_path, "other.parquet", rows(0) | {column: values})
    plain, other = (split_of(tmp_path / name, 20) for name in ("plain.parquet", "other.parquet"))
    assert storable(tmp_path, [plain], COLUMNS, LIMITS) == [(str(tmp_path / "plain.parquet"), 0)]
    assert storable(tmp_path, [plain, other], COLUMNS, LIMITS) is None


def test_many_small_files_are_written_as_few(tmp_path: Path) -> None:
    splits = []
    for i in range(33):
        land(tmp_path, f"{i:02}.parquet", rows(20 * i))
        splits.append(split_of(tmp_path / f"{i:02}.parquet", 20))
    assert storable(tmp_path, splits, COLUMNS, LIMITS) is None
    assert len(storable(tmp_path, splits[:32], COLUMNS, LIMITS) or ()) == 32


def test_pieces_damaged_and_unreadable_files_are_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    land(tmp_path, path.name, rows(0), compression="none", use_dictionary=False)
    whole = split_of(path, 20)
    assert storable(tmp_path, [whole], COLUMNS, LIMITS) is not None
    piece = Split(0, 0, 10, 10, {**whole.payload, "rest": True})
    assert storable(tmp_path, [piece], COLUMNS, LIMITS) is None
    land(tmp_path, "b.parquet", rows(0), compression="brotli")
    assert storable(tmp_path, [split_of(tmp_path / "b.parquet", 20)], COLUMNS, LIMITS) is None
    content = path.read_bytes()
    path.write_bytes(content[:4] + b"\xff" * 60 + content[64:])
    assert storable(tmp_path, [split_of(path, 20)], COLUMNS, LIMITS) is None
    path.unlink()
    assert storable(tmp_path, [whole], COLUMNS, LIMITS) is None
