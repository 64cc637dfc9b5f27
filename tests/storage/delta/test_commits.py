"""What commits say of themselves: damage, other records, tables ahead of the log, the disk."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from deltalake import write_deltalake

from floodmark.errors import DataError, UserError
from floodmark.storage import durability, local_files
from floodmark.storage.checks.older_log import epochs_of_other_logs, refuse_tables_ahead
from floodmark.storage.delta.log import commit_key
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.durability import check_choice, choose, is_durable
from floodmark.storage.logs.backfills import BackfillLog, fence
from floodmark.storage.logs.catalog import CatalogLog
from floodmark.storage.logs.epochs import EpochLog, ObjectRecord
from floodmark.storage.records.text import to_text
from floodmark.storage.records.upgrades import FORMAT
from floodmark.storage.table import OtherHistory, Store, record_of
from floodmark.tables.tables import Writer
from tests.storage.conftest import SCHEMA, Writer as Write, write_rows

T, U = "public/t", "_state/public/t/join-left"
NOW = datetime(2024, 1, 1, tzinfo=UTC)


def written(store: Store, epoch: int, record: str | None, table: str = T) -> int:
    """Commit an epoch of the object t; return the version."""
    tables: Any = SimpleNamespace(store=store)
    told = {"catalog_version": 1, "record": record}
    return Writer(tables, "t", epoch, told).commit(table, SCHEMA).version


def test_a_commit_tells_of_its_epoch_and_its_record(store: Store) -> None:
    for epoch in (1, 3):
        written(store, epoch, f"id{epoch}")
    store.commit(store.open(T), metadata={"maintenance": "compact"}, data_change=False)
    infos = list(store.commits(T))
    assert [info["version"] for info in infos[:3]] == [3, 2, 1]
    assert [info["transactions"] for info in infos[:3]] == [{}, {"t": 3}, {"t": 1}]
    found = {epoch: record_of(store, T, "t", epoch) for epoch in range(1, 5)}
    assert found == {1: "id1", 2: None, 3: "id3", 4: None}
    assert record_of(store, T, "another", 3) is None
    store.create(U, SCHEMA)
    assert sorted(store.tables()) == [U, T]


def test_an_epoch_of_another_record_is_not_taken_for_done(store: Store) -> None:
    tables: Any = SimpleNamespace(store=store)
    written(store, 1, "one")
    written(store, 2, "two")
    again = Writer(tables, "t", 2, {"record": "two"})
    assert again.find_handle(T) == again.commit(T, SCHEMA) == store.open(T)
    for epoch, record in ((2, "other"), (2, None), (1, "other")):
        writer = Writer(tables, "t", epoch, {"record": record})
        for use in (lambda w=writer: w.find_handle(T), lambda w=writer: w.commit(T, SCHEMA)):
            with pytest.raises(OtherHistory, match="E0433"):
                use()
    assert store.open(T).version == 2


def test_an_epoch_of_a_former_version_counts_as_done(store: Store) -> None:
    store.commit(store.create(T, SCHEMA), app="t", epoch=1, metadata={"epoch": 1, "attempt": 7})
    tables: Any = SimpleNamespace(store=store)
    for record in (None, "id"):
        assert Writer(tables, "t", 1, {"record": record}).find_handle(T) == store.open(T)


def test_a_commit_tells_the_record_of_its_object_or_that_it_is_damaged(store: Store) -> None:
    tables: Any = SimpleNamespace(store=store)
    writer = Writer(tables, "t", 1, {"record": "one"})
    assert writer.find_record(T) is None
    record = ObjectRecord("t", {"other": 3}, rows_in=2, as_of=NOW)
    writer.commit(T, SCHEMA, note=to_text(asdict(record)))
    assert writer.find_record(T) == replace(record, versions={"other": 3, T: 1})
    for epoch, told in enumerate(("{}", "{", '{"object": 7, "versions": {}}'), 2):
        writer = Writer(tables, "t", epoch, {"record": "one"})
        writer.commit(T, SCHEMA, note=told)
        with pytest.raises(DataError, match=r"E0435.*has a damaged record"):
            writer.find_record(T)


def test_a_table_behind_the_log_is_refused(store: Store) -> None:
    tables: Any = SimpleNamespace(store=store)
    written(store, 1, "one")
    with pytest.raises(DataError, match=r"E0434.*version 1.*version 4"):
        Writer(tables, "t", 2, {}, {T: 4}).newest(T, SCHEMA)


def logged(root: Path, epochs: int, versions: dict[str, int]) -> EpochLog:
    """Log some sealed epochs; the last seal pins versions of tables."""
    log = EpochLog(root)
    for epoch in range(1, epochs + 1):
        log.open(epoch, NOW, 1, NOW)
        log.seal(epoch, [ObjectRecord("t", versions)], NOW)
    return log


def test_tables_ahead_of_the_log_are_refused(store: Store, tmp_path: Path) -> None:
    version = written(store, 1, "a")
    written(store, 2, "b", U)
    with pytest.raises(OtherHistory, match=r"E0433.*no log of epochs"):
        refuse_tables_ahead(EpochLog(tmp_path), store)
    log = logged(tmp_path, 1, {T: version})
    with pytest.raises(OtherHistory, match=r"E0433.*epoch 2.*ends with epoch 1") as raised:
        refuse_tables_ahead(log, store)
    assert raised.value.detail == f"such as {U}"
    store.drop(U)
    refuse_tables_ahead(log, store)
    opened = log.open(2, NOW, 1, NOW)
    written(store, 2, opened.id)
    refuse_tables_ahead(log, store)
    written(store, 3, "c")
    with pytest.raises(OtherHistory, match=r"E0433.*epoch 3.*ends with epoch 2"):
        refuse_tables_ahead(log, store)


def test_another_epoch_of_the_number_of_the_open_one_is_refused(
    store: Store, tmp_path: Path
) -> None:
    log = logged(tmp_path, 1, {T: written(store, 1, "a")})
    log.open(2, NOW, 1, NOW)
    written(store, 2, "of another log")
    with pytest.raises(OtherHistory, match=r"E0433.*another epoch 2"):
        refuse_tables_ahead(log, store)


def test_epochs_of_another_log_are_found_in_the_past(store: Store, tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    for epoch in (1, 2, 3):
        opened = log.open(epoch, NOW, 1, NOW)
        written(store, epoch, "other" if epoch == 2 else opened.id)
        log.seal(epoch, [ObjectRecord("t", {T: epoch})], NOW)
    refuse_tables_ahead(log, store)
    assert epochs_of_other_logs(log, store, T, lambda epoch: log.open_record(epoch).id) == [2]


def test_a_commit_in_the_place_of_another_is_refused(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    for epoch in (1, 2, 3):
        written(store, epoch, f"id{epoch}")
    for version in (2, 3):
        earlier, place = (tmp_path / T / commit_key(v) for v in (version - 1, version))
        there = place.read_bytes()
        place.write_bytes(earlier.read_bytes())
        with pytest.raises(DataError, match=f"E0435.*is the commit of version {version - 1}"):
            DeltaStore(tmp_path).open(T)
        place.write_bytes(there)
    assert DeltaStore(tmp_path).open(T).version == 3


def test_what_others_wrote_says_nothing_of_epochs(tmp_path: Path) -> None:
    import pyarrow as pa

    store = DeltaStore(tmp_path)
    write_deltalake(str(tmp_path / "public/theirs"), pa.table({"a": [1]}))
    store.commit(store.open("public/theirs"), app="theirs", epoch=7, metadata={"epoch": 7})
    refuse_tables_ahead(EpochLog(tmp_path), store)


def damaged(path: Path) -> list[bytes]:
    """Return what a commit may become: empty, zeros, cut in and between lines, less, no object."""
    text = path.read_bytes()
    lines = text.splitlines(keepends=True)
    return [
        b"", b"\n", bytes(len(text)), text[:-20], b"".join(lines[:-1]), lines[0],
        b"".join(lines[:1] + lines[2:]), text + lines[-1], b"[]\n", b"\xff\n",
    ]  # fmt: skip


def test_a_damaged_newest_commit_is_refused(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    handle = store.create(T, SCHEMA)
    files = write_rows(store, T, 1, [(1, "a")], [(2, "b")])
    store.commit(handle, adds=files, app="t", epoch=1, metadata={"epoch": 1})
    path = tmp_path / T / commit_key(1)
    whole = path.read_bytes()
    for text in damaged(path):
        path.write_bytes(text)
        for fresh in (store, DeltaStore(tmp_path)):
            for use in (fresh.open, lambda t, s=fresh: s.history(t, 0)):
                with pytest.raises(DataError, match=r"E0435.*00001.json.*public/t"):
                    use(T)
        assert store.settle(T, 0) == 0
    path.write_bytes(whole)
    assert len(DeltaStore(tmp_path).open(T).files) == 2


def test_commits_of_others_need_only_be_whole(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    store.create(T, SCHEMA)
    path = tmp_path / T / commit_key(1)
    info = {"commitInfo": {"engineInfo": "Apache-Spark", "userMetadata": '{"actions": 9}'}}
    path.write_text(json.dumps(info))
    assert DeltaStore(tmp_path).open(T).version == 1
    former = {"engineInfo": "floodmark/0.1.0", "userMetadata": '{"epoch": 1, "attempt": 3}'}
    path.write_text(json.dumps({"commitInfo": former}) + "\n")
    assert DeltaStore(tmp_path).open(T).version == 1
    path.write_text(json.dumps({"commitInfo": {**former, "userMetadata": "no JSON"}}))
    assert DeltaStore(tmp_path).open(T).version == 1
    path.write_text(json.dumps(info)[:-3])
    with pytest.raises(DataError, match="E0435"):
        DeltaStore(tmp_path).open(T)


def test_a_commit_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    store.create(T, SCHEMA)
    info = {
        "engineInfo": "floodmark/2.0.0",
        "userMetadata": json.dumps({"format": FORMAT + 1, "actions": 1}),
    }
    (tmp_path / T / commit_key(1)).write_text(json.dumps({"commitInfo": info}))
    with pytest.raises(DataError, match=rf"E0430.*format {FORMAT + 1}.*up to {FORMAT}"):
        DeltaStore(tmp_path).open(T)


@pytest.mark.parametrize(
    ("said", "code"),
    [({"format": 1, "origin": "x"}, r"E0430.*does not know"), ({"format": "2"}, "E0435.*'2'")],
)
def test_so_is_one_that_says_what_is_not_known(
    tmp_path: Path, said: Mapping[str, Any], code: str
) -> None:
    store = DeltaStore(tmp_path)
    store.create(T, SCHEMA)
    info = {"engineInfo": "floodmark/0.1.0", "userMetadata": json.dumps(said)}
    path = tmp_path / T / commit_key(1)
    path.write_text(json.dumps({"commitInfo": info}))
    with pytest.raises(DataError, match=code):
        DeltaStore(tmp_path).open(T)
    path.write_text(json.dumps({"commitInfo": {**info, "engineInfo": "Apache-Spark"}}))
    assert DeltaStore(tmp_path).open(T).version == 1


def test_a_name_with_a_line_separator_stays_in_its_line(store: Store, write: Write) -> None:
    files = write(T, 1, [(1, "a\u2028b"), (2, "c\x85d")])
    handle = store.commit(store.create(T, SCHEMA), adds=files, metadata={"told": "x\u2028y"})
    assert type(store)(store.objects).open(T) == handle if isinstance(store, DeltaStore) else True


class _Flushed:
    """Records what is waited for, in order, by path."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[Path] = []
        self.there: list[set[str]] = []
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, handle: int) -> None:
        self.paths.append(Path(os.readlink(f"/proc/self/fd/{handle}")))


def test_data_is_on_the_disk_before_the_commit_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DeltaStore(tmp_path, durable=True)
    handle = store.create(T, SCHEMA)
    files = write_rows(store, T, 1, [(1, "a")], [(2, "b")])
    flushed = _Flushed(monkeypatch)
    linked: list[int] = []
    link = os.link
    monkeypatch.setattr(os, "link", lambda *a: (linked.append(len(flushed.paths)), link(*a)))
    store.commit(handle, adds=files, app="t", epoch=1)
    folder, log = tmp_path / T, tmp_path / T / "_delta_log"
    data = [folder / file.path for file in files]
    assert flushed.paths[:2] == data and flushed.paths[2:4] == [folder / "1-0", folder]
    commit, names = flushed.paths[4:]
    assert commit.parent == log and "00001.json" in commit.name and names == log
    assert linked == [5], "the commit gets its name between its own content and the folder"


def test_a_record_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(tmp_path, True)
    rows = tmp_path / "_floodmark" / "dml" / "t-1" / "part.parquet"
    rows.parent.mkdir(parents=True)
    rows.touch()
    flushed = _Flushed(monkeypatch)
    dml = [{"table": "t", "paths": [str(rows)], "rows": 1, "start": 0}]
    EpochLog(tmp_path).open(1, NOW, 1, NOW, dml=dml)
    bucket = tmp_path / "_floodmark" / "epochs" / "0"
    names = [path.relative_to(tmp_path / "_floodmark").as_posix() for path in flushed.paths]
    assert names[:4] == ["dml/t-1/part.parquet", "dml/t-1", "dml", "."]
    assert flushed.paths[-2].name.startswith(".1.open.json") and flushed.paths[-1] == bucket
    assert bucket.parent in flushed.paths[4:-2]
    flushed.paths.clear()
    CatalogLog(tmp_path).append(1, [], NOW, dml=dml)
    names = [path.relative_to(tmp_path / "_floodmark").as_posix() for path in flushed.paths]
    assert names[:4] == ["dml/t-1/part.parquet", "dml/t-1", "dml", "."]
    assert names[-1] == "catalog"


def test_folders_of_backfills_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(tmp_path, True)
    flushed = _Flushed(monkeypatch)
    with fence(tmp_path), BackfillLog(tmp_path, "v", 3).claim() as mine:
        assert mine
    assert flushed.paths == [tmp_path / "_floodmark", tmp_path / "_floodmark" / "backfills"]


def test_nothing_is_waited_for_where_the_warehouse_is_not_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(tmp_path, False)
    flushed = _Flushed(monkeypatch)
    store = DeltaStore(tmp_path)
    store.commit(store.create(T, SCHEMA), adds=write_rows(store, T, 1, [(1, "a")]))
    store.checkpoint(T)
    EpochLog(tmp_path).open(1, NOW, 1, NOW)
    assert not flushed.paths


def test_a_checkpoint_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DeltaStore(tmp_path, durable=True)
    store.create(T, SCHEMA)
    flushed = _Flushed(monkeypatch)
    store.checkpoint(T)
    suffixes = [path.name for path in flushed.paths]
    assert suffixes == [f"{0:020d}.checkpoint.parquet", "_last_checkpoint", "_delta_log"]


def test_whether_a_warehouse_is_durable_is_chosen_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(durability.VARIABLE, raising=False)
    assert is_durable(tmp_path)
    monkeypatch.setenv(durability.VARIABLE, "false")
    assert not is_durable(tmp_path)
    choose(tmp_path, None)
    monkeypatch.setenv(durability.VARIABLE, "true")
    choose(tmp_path, None)
    assert not is_durable(tmp_path)
    check_choice(tmp_path, False)
    for use in (check_choice, choose):
        with pytest.raises(UserError, match=r"E0436.*durable = false"):
            use(tmp_path, True)
    for text, durable in (("Off", False), ("0", False), (" no ", False), ("ON", True), ("1", True)):
        monkeypatch.setenv(durability.VARIABLE, text)
        assert durability.durable_by_default() is durable
    monkeypatch.setenv(durability.VARIABLE, "maybe")
    with pytest.raises(UserError, match="E0436"):
        choose(tmp_path / "new", None)
    assert not (tmp_path / "new").exists()


def test_folders_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = _Flushed(monkeypatch)
    for _ in range(2):
        local_files.make_folder(tmp_path / "a" / "b", durable=True)
    assert flushed.paths == [tmp_path / "a", tmp_path]


def test_a_version_that_a_table_does_not_have_is_not_settled(store: Store) -> None:
    for epoch in (1, 2):
        written(store, epoch, "id")
    assert store.settle(T, 2) == 2
    with pytest.raises(DataError, match=r"E0434.*version 2.*version 3"):
        store.settle(T, 3)
