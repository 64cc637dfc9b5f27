"""What every store does, whichever keeps the log."""

from __future__ import annotations

import errno
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from floodmark.changelog import EPOCH, ROW_ID
from floodmark.errors import DataError, TransientError
from floodmark.scalar.types import BIGINT, TIMESTAMP, TIMESTAMPTZ, VARCHAR, Field
from floodmark.storage import local_files
from floodmark.storage.table import AlreadyRecorded, Conflict, Store
from tests.storage.conftest import SCHEMA, Writer, write_rows

T = "public/t"
LATER = datetime(2999, 1, 1, tzinfo=UTC)


def test_create_open_and_reopen(store: Store) -> None:
    assert not store.exists(T)
    handle = store.create(T, SCHEMA)
    assert store.exists(T)
    assert (handle.version, handle.schema, handle.files) == (0, SCHEMA, ())
    assert store.create(T, SCHEMA) == handle == store.open(T)
    with pytest.raises(DataError, match="E0404"):
        store.create(T, (Field("other", BIGINT),))
    with pytest.raises(DataError, match="E0402"):
        store.open("public/missing")


def test_commit_adds_removes_and_pins(store: Store, write: Writer) -> None:
    empty = store.create(T, SCHEMA)
    first = write(T, 1, [(1, "a"), (2, None)], [(9, "z")])
    one = store.commit(empty, adds=first, app="o", epoch=1, metadata={"epoch": 1})
    assert one.files == first and one.transaction("o") == 1 and one.version == 1
    second = write(T, 2, [(5, "x")])
    two = store.commit(one, adds=second, removes=first[:1], app="o", epoch=2)
    assert set(two.files) == {first[1], second[0]}
    assert store.open(T) == two
    assert store.open(T, 1).files == first
    assert store.open(T, 1).transactions == {"o": 1}
    assert store.open(T, 0).files == ()
    with pytest.raises(DataError, match="E0402"):
        store.open(T, 3)
    rows = sum(pq.read_metadata(path).num_rows for path in store.paths(two))
    assert rows == 2


def test_statistics_come_from_the_footers(store: Store, write: Writer) -> None:
    store.create(T, SCHEMA)
    (file,) = write(T, 1, [(3, "b"), (1, None)], [])
    assert (file.rows, file.low, file.high) == (2, {"k": 1, "s": "b"}, {"k": 3, "s": "b"})
    assert file.nulls == {"k": 0, "s": 1}
    assert file.path == "1-0/part-00000.snappy.parquet"


def test_an_epoch_is_recorded_once(store: Store, write: Writer) -> None:
    handle = store.create(T, SCHEMA)
    files = write(T, 5, [(1, "a")])
    done = store.commit(handle, adds=files, app="o", epoch=5)
    again = write(T, 5, [(1, "a")], attempt=1)
    for stale in (handle, done):
        with pytest.raises(AlreadyRecorded, match="E0502"):
            store.commit(stale, adds=again, app="o", epoch=5)
    with pytest.raises(AlreadyRecorded):
        store.commit(done, adds=again, app="o", epoch=4)
    assert store.open(T) == done


def test_a_stale_handle_conflicts(store: Store, write: Writer) -> None:
    handle = store.create(T, SCHEMA)
    store.commit(handle, adds=write(T, 1, [(1, "a")]), app="other", epoch=1)
    with pytest.raises(Conflict, match="E0501"):
        store.commit(handle, adds=write(T, 1, [(1, "b")], attempt=1), app="o", epoch=1)


def test_history_and_version_at(store: Store, write: Writer) -> None:
    handle = store.create(T, SCHEMA)
    assert store.version_at(T, "o", 10) is None
    for epoch in (2, 4):
        files = write(T, epoch, [(epoch, "a")])
        handle = store.commit(handle, adds=files, app="o", epoch=epoch, metadata={"epoch": epoch})
    merged = write(T, 4, [(2, "a"), (4, "a")], attempt=9)
    store.commit(handle, adds=merged, removes=handle.files, data_change=False)
    at = [store.version_at(T, "o", epoch) for epoch in (1, 2, 3, 4, 9)]
    assert at == [None, 1, 1, 3, 3]
    assert store.version_at(T, "unknown", 4) is None
    infos = store.history(T, 0)
    assert [info["version"] for info in infos] == [1, 2, 3]
    assert [info["metadata"] for info in infos] == [{"epoch": 2}, {"epoch": 4}, {}]
    assert [info["data_change"] for info in infos] == [True, True, False]
    assert infos[2]["operation"] == "OPTIMIZE"


def test_an_empty_epoch_is_recorded(store: Store) -> None:
    handle = store.commit(store.create(T, SCHEMA), app="o", epoch=1)
    assert store.open(T).transaction("o") == 1 and handle.files == ()


def test_columns_come_and_go_with_a_commit(store: Store, write: Writer) -> None:
    zoned, plain = Field("at", TIMESTAMPTZ), Field("ts", TIMESTAMP)
    one = store.commit(store.create(T, SCHEMA), adds=write(T, 1, [(1, "a")]), app="o", epoch=1)
    wider = (*SCHEMA, zoned, plain)
    two = store.commit(one, metadata={"maintenance": "wider"}, schema=wider)
    assert two.schema == wider and two.files == one.files and two.transaction("o") == 1
    assert store.open(T, 1).schema == SCHEMA and store.open(T) == two
    assert store.create(T, wider) == two
    assert store.settle(T, 1) == 1
    with pytest.raises(DataError, match="E0402"):
        store.settle("public/none", 1)
    narrow = SCHEMA[:1]
    files = write(T, 2, [(1, "a")])
    three = store.commit(two, adds=files, removes=one.files, schema=narrow)
    assert three.schema == narrow and [f.path for f in three.files] == [files[0].path]
    assert store.history(T, 1)[0]["metadata"] == {"maintenance": "wider"}


def test_adopt_moves_files(store: Store, tmp_path: Path) -> None:
    handle = store.create(T, SCHEMA)
    write_rows(store, "public/elsewhere", 1, [(1, "a")], [(2, "b")])
    folder = store.stage("public/elsewhere", 1, 0)
    files = store.adopt(T, folder, 3, 0)
    assert sorted(file.low["k"] for file in files) == [1, 2]
    assert not list(Path(folder).glob("*.parquet"))
    after = store.commit(handle, adds=files)
    assert all(Path(path).is_file() for path in store.paths(after))


def test_files_are_taken_over_with_their_place_in_their_path(store: Store, tmp_path: Path) -> None:
    write_rows(store, "public/elsewhere", 1, [(1, "a"), (2, "b")])
    delivered = next(Path(store.stage("public/elsewhere", 1, 0)).rglob("*.parquet"))
    handle = store.create(T, SCHEMA)
    (file,) = store.take(T, [(str(delivered), 70)], 3, 0)
    assert (file.rows, file.low[ROW_ID], file.high[ROW_ID], file.low[EPOCH]) == (2, 70, 71, 3)
    after = store.commit(handle, adds=[file])
    store.checkpoint(T)
    (path,) = store.paths(store.open(T, after.version))
    assert Path(path).read_bytes() == delivered.read_bytes()


def test_vacuum_keeps_what_pinned_versions_need(store: Store, write: Writer) -> None:
    handle = store.create(T, SCHEMA)
    for epoch in range(1, 4):
        adds = write(T, epoch, [(epoch, "a")])
        handle = store.commit(handle, adds=adds, removes=handle.files, app="o", epoch=epoch)
    write(T, 4, [(7, "orphan")])
    store.checkpoint(T)
    # Gone: the file of epoch 1, the orphan, and the _SUCCESS files.
    assert store.vacuum(T, retain_versions_from=2, written_before=LATER) == 6
    for version in (2, 3):
        kept = store.open(T, version)
        assert all(Path(path).is_file() for path in store.paths(kept))
    assert store.open(T) == handle


def test_checkpoint_changes_nothing(store: Store, write: Writer) -> None:
    handle = store.create(T, SCHEMA)
    handle = store.commit(handle, adds=write(T, 1, [(1, "a"), (2, None)]), app="o", epoch=1)
    store.checkpoint(T)
    assert store.open(T) == handle
    later = store.commit(handle, adds=write(T, 2, [(3, "b")]), app="o", epoch=2)
    assert store.open(T, 2) == later


def test_drop_and_create_again(store: Store, write: Writer) -> None:
    handle = store.create(T, SCHEMA)
    store.commit(handle, adds=write(T, 1, [(1, "a")]), app="o", epoch=1)
    store.drop(T)
    assert not store.exists(T)
    fresh = store.create(T, (Field("v", VARCHAR),))
    assert fresh.version == 0 and fresh.transactions == {}


@pytest.mark.parametrize(
    "table", ["../x", "/etc", "a/../../b", "", "a//b", "a b", "a/.x", "a/" + "n" * 300, "a\0b"]
)
def test_nothing_leaves_the_root(store: Store, table: str) -> None:
    with pytest.raises(DataError, match="E0401"):
        store.create(table, SCHEMA)
    with pytest.raises(DataError, match="E0401"):
        store.exists(table)


@pytest.mark.parametrize("name", ["a b", "a,b", "a=b", "a\nb", "(a)", "", "K"])
def test_column_names_that_delta_cannot_hold(store: Store, name: str) -> None:
    with pytest.raises(DataError, match="E0403"):
        store.create(T, (Field("k", BIGINT), Field(name, BIGINT)))


def test_a_full_disk_is_transient() -> None:
    with pytest.raises(TransientError, match=r"E0504.*public/t"), local_files.disk_errors(T):
        raise OSError(errno.ENOSPC, "no space left on device")
