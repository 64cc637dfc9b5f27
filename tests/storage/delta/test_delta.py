"""What only the Delta store has: readers of other makers, other processes, old logs."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from floodmark.errors import DataError, NotSupported
from floodmark.scalar import types as t
from floodmark.scalar.types import Field
from floodmark.storage.delta import log as delta_log
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.files import statistics
from floodmark.storage.objects.local import LocalObjects
from floodmark.storage.table import DataFile
from floodmark.storage.warehouse import ENGINE, GONE
from tests.storage.conftest import SCHEMA, write_rows

T = "public/t"
LATER = datetime(2999, 1, 1, tzinfo=UTC)
ALL_TYPES = (
    Field("b", t.BOOLEAN),
    Field("i2", t.SMALLINT),
    Field("i4", t.INT),
    Field("i8", t.BIGINT),
    Field("n", t.numeric(38, 10)),
    Field("f4", t.REAL),
    Field("f8", t.DOUBLE),
    Field("s", t.VARCHAR),
    Field("bin", t.BYTEA),
    Field("d", t.DATE),
    Field("tm", t.TIME),
    Field("ts", t.TIMESTAMP),
    Field("tz", t.TIMESTAMPTZ),
    Field("iv", t.INTERVAL),
    Field("j", t.JSONB),
    Field("u", t.UUID),
    Field("l", t.list_of(t.UUID)),
    Field("st", t.struct_of(("x", t.INT), ("y", t.INTERVAL))),
    Field("m", t.map_of(t.VARCHAR, t.numeric(9, 2))),
    Field('quote"d.dotted-ünï', t.INT),
)


def test_every_type_comes_back(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    assert store.create(T, ALL_TYPES).schema == ALL_TYPES
    assert DeltaStore(tmp_path).open(T).schema == ALL_TYPES


def test_the_last_commit_has_a_time(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    assert store.last_commit(T) == 0
    handle = store.create(T, SCHEMA)
    created = store.last_commit(T)
    commit = tmp_path / T / delta_log.commit_key(store.commit(handle).version)
    assert 0 < created <= store.last_commit(T) == commit.stat().st_mtime_ns


def test_other_readers_read_and_prune(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    schema = (Field("k", t.BIGINT), Field("ts", t.TIMESTAMP), Field("n", t.numeric(38, 10)))
    handle = store.create(T, schema)
    folder = Path(store.stage(T, 1, 0))
    folder.mkdir(parents=True)
    for k in range(3):
        rows = {
            "k": pa.array([k, None], pa.int64()),
            "ts": pa.array([datetime(2024, 1, 1 + k, 0, 0, 0, 123456)] * 2, pa.timestamp("us")),
            "n": pa.array([Decimal("1234567890123456789012345678.0000000001")] * 2),
        }
        arrow = pa.schema(
            [("k", pa.int64()), ("ts", pa.timestamp("us")), ("n", pa.decimal128(38, 10))]
        )
        pq.write_table(pa.table(rows).cast(arrow), folder / f"part-{k}.parquet")
    handle = store.commit(handle, adds=store.list_stage(T, 1, 0), app="o", epoch=7)
    foreign = DeltaTable(str(tmp_path / T))
    assert foreign.transaction_version("o") == 7
    assert foreign.to_pyarrow_table().num_rows == 6
    assert foreign.to_pyarrow_table(filters=[("k", "=", 2)]).num_rows == 1
    assert foreign.protocol().reader_features == ["timestampNtz"]
    actions = pa.table(foreign.get_add_actions(flatten=True))
    assert actions["min.ts"].to_pylist()[0] == datetime(2024, 1, 1, 0, 0, 0, 123456)
    assert store.open(T, 1).files == handle.files


def test_a_foreign_commit_is_seen(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    store.create(T, (Field("k", t.BIGINT), Field("s", t.VARCHAR)))
    data = pa.table({"k": pa.array([1, 2], pa.int64()), "s": ["a", None]})
    write_deltalake(str(tmp_path / T), data, mode="append")
    after = store.open(T)
    assert (after.version, after.files[0].rows, after.files[0].low["k"]) == (1, 2, 1)
    assert store.history(T, 0)[0]["engine"].startswith("delta-rs")
    DeltaTable(str(tmp_path / T)).delete("k = 1")
    assert sum(file.rows for file in store.open(T).files) == 1


def test_a_table_made_anew_by_somebody_else_is_noticed(tmp_path: Path) -> None:
    mine, other = DeltaStore(tmp_path), DeltaStore(tmp_path)
    handle = mine.create(T, SCHEMA)
    mine.commit(handle, adds=write_rows(mine, T, 1, [(1, "a")]), app="o", epoch=1)
    other.drop(T)
    other.create(T, SCHEMA)
    assert mine.open(T).version == 0 and mine.open(T).files == ()


def test_opening_after_a_checkpoint_needs_no_older_log(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    handle = store.create(T, SCHEMA)
    for epoch in range(1, 6):
        files = write_rows(store, T, epoch, [(epoch, "a")])
        handle = store.commit(handle, adds=files, app="o", epoch=epoch)
    store.checkpoint(T)
    store.vacuum(T, retain_versions_from=5, written_before=LATER)
    assert not (tmp_path / T / delta_log.commit_key(4)).exists()
    reopened = DeltaStore(tmp_path).open(T)
    assert set(map(repr, reopened.files)) == set(map(repr, handle.files))
    assert reopened.transactions == {"o": 5}
    assert store.version_at(T, "o", 5) == 5 and store.version_at(T, "o", 4) is None
    with pytest.raises(DataError, match="E0402"):
        store.open(T, 3)
    with pytest.raises(DataError, match="E0402"):
        store.history(T, 0)
    with pytest.raises(Exception, match="E0501"):
        store.commit(replace(handle, version=2), adds=write_rows(store, T, 9, [(9, "z")]))


RACE = """
import sys
from pathlib import Path
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.table import AlreadyRecorded, Conflict
store = DeltaStore(sys.argv[1])
for epoch in range(1, 41):
    handle = store.open("public/t")
    try:
        store.commit(handle, app=sys.argv[2], epoch=epoch)
        print("done")
    except AlreadyRecorded:
        print("recorded")
    except Conflict:
        print("conflict")
"""


@pytest.mark.parametrize("apps", [("o", "o"), ("o", "p")])
def test_processes_never_share_a_version(tmp_path: Path, apps: tuple[str, str]) -> None:
    store = DeltaStore(tmp_path)
    store.create(T, SCHEMA)
    command = [sys.executable, "-c", RACE, str(tmp_path)]
    runs = [subprocess.Popen([*command, app], stdout=subprocess.PIPE, text=True) for app in apps]
    words = [word for run in runs for word in run.communicate()[0].split()]
    assert len(words) == 80
    handle = store.open(T)
    assert handle.version == words.count("done")
    recorded = [
        a["txn"]
        for v in range(1, handle.version + 1)
        for a in delta_log.read_commit(LocalObjects(tmp_path / T), v) or ()
        if "txn" in a
    ]
    pairs = [(txn["appId"], txn["version"]) for txn in recorded]
    assert len(set(pairs)) == len(pairs)


def test_one_of_two_handles_wins(tmp_path: Path) -> None:
    one, two = DeltaStore(tmp_path), DeltaStore(tmp_path)
    handle = one.create(T, SCHEMA)
    same = two.open(T)
    one.commit(handle, app="o", epoch=1)
    with pytest.raises(Exception, match="E0501"):
        two.commit(same, app="p", epoch=1)


def test_hidden_bounds_of_floats_and_long_strings(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = pa.table({"f": [1.0, float("nan")], "s": ["a" * 100, "b" * 100], "b": [True, False]})
    pq.write_table(table, path)
    file = statistics.read_footer(str(path), "x.parquet")
    assert file.low["f"] == 1.0 and "f" not in file.high
    assert file.low["s"] == "a" * 64 and file.high["s"] > "b" * 100
    assert "b" not in file.low


def test_int96_and_nested_columns_have_no_bounds(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = pa.table({"st": [{"a.b": 1}], "ts": [datetime(2024, 1, 1)], "a.b": [5], "l": [[1, 2]]})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    file = statistics.read_footer(str(path), "x.parquet")
    assert file.low == {"a.b": 5} and file.nulls == {"a.b": 0}


def test_statistics_survive_the_log() -> None:
    schema = (
        Field("n", t.numeric(38, 10)),
        Field("tz", t.TIMESTAMPTZ),
        Field("d", t.DATE),
        Field("f", t.DOUBLE),
    )
    low = {
        "n": Decimal("1234567890123456789012345678.0000000001"),
        "tz": datetime(2024, 1, 1, 1, 2, 3, 4, tzinfo=UTC),
        "d": date(1, 1, 1),
        "f": 0.1,
    }
    found = statistics.from_json(
        statistics.to_json(DataFile("x", 1, 2, low, low, {"n": 1})), schema
    )
    assert found == statistics.FileStatistics(2, low, low, {"n": 1})


def test_timestamps_cut_at_milliseconds_stay_safe() -> None:
    text = '{"numRecords":1,"maxValues":{"t":"2024-01-01T00:00:00.123Z"}}'
    found = statistics.from_json(text, (Field("t", t.TIMESTAMPTZ),))
    assert found.high["t"] == datetime(2024, 1, 1, 0, 0, 0, 123999, tzinfo=UTC)


@pytest.mark.parametrize("properties", [{"delta.columnMapping.mode": "name"}])
def test_tables_that_cannot_be_read_are_refused(tmp_path: Path, properties: dict) -> None:
    actions = [{"metaData": {"schemaString": '{"fields":[]}', "configuration": properties}}]
    with pytest.raises(DataError, match="E0407"):
        delta_log.apply(delta_log.Snapshot(), actions, str(tmp_path))
    with pytest.raises(DataError, match="E0407"):
        delta_log.apply(
            delta_log.Snapshot(), [{"protocol": {"readerFeatures": ["v2Checkpoint"]}}], "t"
        )


def test_object_stores_are_refused() -> None:
    with pytest.raises(NotSupported, match="E0380"):
        DeltaStore("s3://bucket/warehouse")


def test_half_of_a_table_is_none(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    log = tmp_path / T / delta_log.LOG
    log.mkdir(parents=True)
    (log / "_commit.tmp").write_text("{}")
    assert not store.exists(T)
    store.create(T, SCHEMA)
    assert store.exists(T)


def test_what_a_killed_drop_has_left_goes_with_the_next(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    store.create(T, SCHEMA)
    left = tmp_path / ENGINE / GONE / "left" / "part"
    left.mkdir(parents=True)
    store.drop(T)
    assert not store.exists(T) and not left.exists() and not (tmp_path / T).exists()
    store.drop(T)
