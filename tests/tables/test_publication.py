"""What other programs see of an object, and what becomes of what they write. No Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from floodmark.changelog import EPOCH
from floodmark.errors import DataError
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.delta.types import NOT_NULL_KEY
from floodmark.storage.table import Conflict, DataFile, Handle
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.publication import KEY, foreign_commits, publish
from tests.program_reference import compile_sql

SQL = """
CREATE TABLE t (k INT PRIMARY KEY, s VARCHAR);
CREATE MATERIALIZED VIEW v AS SELECT k, s FROM t;
"""


@dataclass
class Published:
    """An object with rows in files, one for each epoch, which are published."""

    obj: AnalysedObject
    store: DeltaStore
    root: Path
    epoch: int = 0

    def write(self, *keys: int) -> Handle:
        """Commit rows as an epoch does, and publish them."""
        rows = self.commit(*keys)
        assert publish(self.store, self.obj, rows, self.epoch)
        return rows

    def commit(self, *keys: int) -> Handle:
        """Commit rows as an epoch does."""
        self.epoch += 1
        table, schema = layout.current_table(self.obj), layout.current_schema(self.obj)
        handle = self.store.open(table) if self.epoch > 1 else self.store.create(table, schema)
        adds = self._file(keys) if keys else ()
        said = {"attempt": 1, "epoch": self.epoch}
        return self.store.commit(handle, adds=adds, app="x", epoch=self.epoch, metadata=said)

    def merge(self) -> Handle:
        """Commit all rows in one file, as compaction does."""
        handle = self.store.open(layout.current_table(self.obj))
        adds, said = self._file(self.seen(), attempt=9), {"maintenance": "compact"}
        return self.store.commit(
            handle, adds=adds, removes=handle.files, metadata=said, data_change=False
        )

    def _file(self, keys: Iterable[int], attempt: int = 0) -> tuple[DataFile, ...]:
        table = layout.current_table(self.obj)
        folder = Path(self.store.stage(table, self.epoch, attempt))
        folder.mkdir(parents=True)
        keys = list(keys)
        columns = {"k": pa.array(keys, pa.int32()), "s": pa.array([f"s{k}" for k in keys])}
        columns[EPOCH] = pa.array([self.epoch] * len(keys), pa.int64())
        pq.write_table(pa.table(columns), folder / "part-0.parquet")
        return self.store.list_stage(table, self.epoch, attempt)

    @property
    def folder(self) -> Path:
        return self.root / layout.publication_table(self.obj)

    def table(self) -> DeltaTable:
        return DeltaTable(str(self.folder))

    def seen(self) -> list[int]:
        """Return the keys that others read, after seeing that they read nothing else."""
        found = self.table().to_pyarrow_table()
        assert found.column_names == ["k", "s"]
        assert found["s"].to_pylist() == [f"s{k}" for k in found["k"].to_pylist()]
        return sorted(found["k"].to_pylist())


@pytest.fixture(params=["t", "v"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Published:
    """Return a table, or a view."""
    return Published(compile_sql(SQL)[request.param], DeltaStore(tmp_path), tmp_path)


@pytest.fixture
def table(tmp_path: Path) -> Published:
    return Published(compile_sql(SQL)["t"], DeltaStore(tmp_path), tmp_path)


@pytest.fixture
def view(tmp_path: Path) -> Published:
    return Published(compile_sql(SQL)["v"], DeltaStore(tmp_path), tmp_path)


def test_others_see_the_declared_columns_in_the_same_files(either: Published) -> None:
    either.write(1, 2)
    rows = either.write(3)
    assert either.seen() == [1, 2, 3]
    for file, path in zip(rows.files, either.store.paths(rows), strict=True):
        assert (either.folder / file.path).samefile(path)
    (last, *_) = either.table().history()
    assert '"epoch": 2' in last["userMetadata"]
    assert foreign_commits(either.store, either.obj) is None


def test_the_schema_says_key_and_not_null(either: Published) -> None:
    either.write(1)
    assert json.loads(either.table().metadata().configuration[KEY]) == ["k"]
    marks = {f.name: f.metadata.get(NOT_NULL_KEY) for f in either.table().schema().fields}
    assert marks == {"k": "true", "s": None}


def test_a_table_of_a_former_version_gets_columns_and_key(either: Published) -> None:
    rows = either.commit(1)
    handle = either.store.create(layout.publication_table(either.obj), rows.schema)
    either.store.mirror(handle.table, rows, rows.files)
    either.store.commit(
        handle, adds=rows.files, app="x", epoch=1, metadata={"attempt": 1, "epoch": 1}
    )
    assert publish(either.store, either.obj, rows, 1)
    assert either.seen() == [1]
    assert json.loads(either.table().metadata().configuration[KEY]) == ["k"]


def test_what_is_published_is_not_published_again(either: Published) -> None:
    rows = either.write(1)
    version = either.table().version()
    assert publish(either.store, either.obj, rows, 1)
    assert either.table().version() == version
    either.write()
    assert either.table().version() == version + 1, "an empty epoch names its version, too"


def test_rows_that_others_write_meanwhile_are_not_lost(
    table: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes after the engine has looked whether somebody did makes its commit fail."""
    table.write(1)
    rows, opened = table.commit(2), DeltaStore.open

    def open_early(store: DeltaStore, name: str, version: int | None = None) -> Handle:
        handle = opened(store, name, version)
        if name == layout.publication_table(table.obj):
            monkeypatch.setattr(DeltaStore, "open", opened)
            added = pa.table({"k": pa.array([9], pa.int32()), "s": ["s9"]})
            write_deltalake(table.folder, added, mode="append")
        return handle

    monkeypatch.setattr(DeltaStore, "open", open_early)
    with pytest.raises(Conflict):
        publish(table.store, table.obj, rows, table.epoch)
    assert table.seen() == [1, 9]
    foreign = foreign_commits(table.store, table.obj)
    assert foreign is not None and foreign.changes_data


def test_rows_that_move_are_no_change(either: Published) -> None:
    for key in (1, 2, 3):
        either.write(key)
    assert publish(either.store, either.obj, either.merge(), 3)
    (last, *_) = either.table().history()
    assert either.seen() == [1, 2, 3] and last["operation"] == "OPTIMIZE"
    assert len(either.table().file_uris()) == 1


def test_an_attempt_that_ended_between_files_and_commit_is_made_again(either: Published) -> None:
    rows = either.commit(1, 2)
    either.store.create(layout.publication_table(either.obj), either.obj.relation.visible)
    either.store.mirror(layout.publication_table(either.obj), rows, rows.files)
    assert either.seen() == []
    assert publish(either.store, either.obj, rows, 1)
    assert either.seen() == [1, 2]


def test_what_was_removed_is_published_anew(either: Published) -> None:
    either.write(1)
    shutil.rmtree(either.folder)
    either.write(2)
    assert either.seen() == [1, 2]


def test_files_that_others_merge_and_delete_come_back(either: Published) -> None:
    either.write(1)
    rows = either.write(2)
    either.table().optimize.compact()
    either.table().vacuum(0, enforce_retention_duration=False, dry_run=False)
    assert either.seen() == [1, 2]
    found = foreign_commits(either.store, either.obj)
    assert found is not None and not found.changes_data
    either.write(3)
    assert either.seen() == [1, 2, 3]
    assert {f.path for f in rows.files} < {Path(u).relative_to(either.folder).as_posix()
                                           for u in either.table().file_uris()}  # fmt: skip


def test_what_others_write_into_a_table_stays_until_it_is_taken_in(table: Published) -> None:
    before = table.write(1, 2)
    own = table.table().version()
    table.table().delete("k = 1")
    found = foreign_commits(table.store, table.obj)
    assert found is not None and found.changes_data
    assert (found.rows, found.own) == (before, own)
    rows = table.commit(3)
    assert publish(table.store, table.obj, rows, 2)
    assert table.seen() == [2], "it is not taken in yet"
    assert publish(table.store, table.obj, rows, 2, found.shown.version)
    assert table.seen() == [1, 2, 3], "the rows of the epoch are those of the engine"
    assert publish(table.store, table.obj, rows, 2, found.shown.version)


def test_what_others_write_meanwhile_is_refused(table: Published) -> None:
    table.write(1, 2)
    table.table().delete("k = 1")
    taken = table.table().version()
    table.table().delete("k = 2")
    rows = table.commit(3)
    with pytest.raises(DataError, match="E0427"):
        publish(table.store, table.obj, rows, 2, taken)


def test_what_others_write_after_it_was_taken_in_waits(table: Published) -> None:
    table.write(1, 2)
    table.table().delete("k = 1")
    taken = table.table().version()
    rows = table.commit(3)
    assert publish(table.store, table.obj, rows, 2, taken)
    table.table().delete("k = 3")
    assert publish(table.store, table.obj, rows, 2, taken)
    found = foreign_commits(table.store, table.obj)
    assert table.seen() == [1, 2] and found is not None and found.rows == rows


def test_what_others_write_into_a_view_goes(view: Published) -> None:
    view.write(1, 2)
    view.table().delete("k = 1")
    write_deltalake(
        view.folder, pa.table({"k": pa.array([9], pa.int32()), "s": ["s9"]}), mode="append"
    )
    rows = view.commit(3)
    assert not publish(view.store, view.obj, rows, 2)
    assert view.seen() == [1, 2, 3]
    assert publish(view.store, view.obj, rows, 2)


def test_a_table_of_somebody_else_is_not_written_over(either: Published) -> None:
    columns = pa.table({"k": pa.array([1], pa.int32()), "s": ["s1"]})
    write_deltalake(either.folder, columns)
    rows = either.commit(2)
    with pytest.raises(DataError, match="E0404"):
        publish(either.store, either.obj, rows, 1)
    assert either.seen() == [1]
