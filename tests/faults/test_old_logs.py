"""A log that is older than the tables, damaged, or of a former version, under the whole engine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest

from floodmark.api import Floodmark
from floodmark.errors import DataError
from floodmark.price import Price
from floodmark.spark.session import Sessions
from floodmark.storage.checks.older_log import refuse_tables_ahead
from floodmark.storage.delta.log import commit_key
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.durability import NAME as SETTINGS
from floodmark.storage.logs.epochs import EpochLog
from floodmark.storage.logs.object_record import ObjectRecord, versions_of
from floodmark.storage.objects.local import LocalObjects
from floodmark.storage.records.text import read_record, to_text
from floodmark.storage.records.upgrades import FORMAT
from floodmark.storage.table import OtherHistory
from tests.warehouses import (
    NOW,
    PROJECTED,
    READINGS,
    SUNK,
    Reading,
    Site,
    digests,
    dying_at,
    put,
    visible,
)

pytestmark = pytest.mark.spark
ENGINE = "_floodmark"


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Site:
    """Return a site with a warehouse that has three files, one an epoch."""
    site = Site(tmp_path_factory.mktemp("three"), sessions)
    site.define(READINGS, PROJECTED, SUNK)
    with site.connect() as fm:
        for number in range(3):
            take_in(site, fm, number)
    return site


@pytest.fixture
def site(three: Site, tmp_path: Path, sessions: Sessions) -> Site:
    """Return a site of its own with that warehouse."""
    shutil.copytree(three.root, tmp_path, dirs_exist_ok=True)
    found = Site(tmp_path, sessions)
    log = tmp_path / "warehouse" / ENGINE
    for path in [*log.rglob("*.json"), tmp_path / "pipelines" / "all.sql"]:
        _move(path, str(three.root), str(tmp_path))
    return found


def _move(path: Path, old: str, new: str) -> None:
    """Let a record tell of another folder: what it says is checked, so it is of format 0 then."""
    if path.suffix == ".sql":
        path.write_text(path.read_text().replace(old, new))
    elif old in path.read_text():
        record = read_record(LocalObjects(path.parent), path.name)
        assert record is not None
        path.write_text(to_text(record.body).replace(old, new))


def rows(number: int) -> list[Reading]:
    """Return ten readings, none of them late."""
    return [(i, "abc"[i % 3], i, 5) for i in range(number * 10, number * 10 + 10)]


def take_in(site: Site, fm: Floodmark, number: int) -> None:
    """Let a file land and take it in."""
    put(site.landing, str(number), rows(number))
    assert fm.advance(now=NOW + timedelta(minutes=number))


def at_rest(root: Path) -> Mapping[str, bytes]:
    """Return all files of a warehouse."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "lease" not in path.parts
    }


def refused(site: Site, code: str) -> None:
    """Check that every writer is refused and touches nothing, and that what is logged is read."""
    root = site.root / "warehouse"
    before = at_rest(root)
    for sql in (None, "INSERT INTO t VALUES ('z', 9)", "CREATE TABLE u (a INT)", "DROP TABLE t"):
        with site.connect() as fm, pytest.raises(OtherHistory, match=code):
            fm.advance(now=NOW) if sql is None else fm.execute(sql)
    assert at_rest(root) == before
    with site.connect() as fm:
        assert fm.execute("SELECT count(*) FROM s").rows == ((30,),)


def test_a_log_that_was_copied_first_is_refused(site: Site) -> None:
    root = site.root / "warehouse"
    shutil.copytree(root / ENGINE, site.root / "old")
    with site.connect() as fm:
        for number in (3, 4, 5):
            take_in(site, fm, number)
    newer = shutil.move(root / ENGINE, site.root / "newer")
    shutil.move(site.root / "old", root / ENGINE)
    for number in (6, 7, 8):
        put(site.landing, str(number), rows(number))
    refused(site, "E0433")
    shutil.rmtree(root / ENGINE)
    shutil.move(newer, root / ENGINE)
    with site.connect() as fm:
        fm.advance(now=NOW)
        assert fm.execute("SELECT count(*), count(DISTINCT id) FROM s").rows == ((90, 90),)


def test_tables_without_a_log_are_refused(site: Site) -> None:
    root = site.root / "warehouse"
    shutil.rmtree(root / ENGINE)
    before = at_rest(root)
    with pytest.raises(OtherHistory, match=r"E0433.*no log"):
        site.connect()
    after = at_rest(root)
    assert {k: v for k, v in after.items() if not k.startswith(ENGINE)} == before
    assert not any(k.startswith(f"{ENGINE}/epochs") or "catalog/" in k for k in after)


def test_an_open_epoch_of_another_log_is_refused(site: Site) -> None:
    site.copy("warehouse", "other")
    put(site.landing, "3", rows(3))
    for name, point in (("warehouse", "view_committed"), ("other", "offsets_logged")):
        with site.connect(name) as fm, dying_at(point):
            fm.advance(now=NOW)
    shutil.rmtree(site.root / "warehouse" / ENGINE)
    shutil.copytree(site.root / "other" / ENGINE, site.root / "warehouse" / ENGINE)
    refused(site, "E0433")
    with site.connect("other") as fm:
        fm.advance(now=NOW)
        assert fm.execute("SELECT count(*) FROM s").rows == ((40,),)


def test_a_gap_in_the_log_takes_nothing_in_again(site: Site) -> None:
    root = site.root / "warehouse"
    with site.connect() as fm:
        take_in(site, fm, 3)
    (root / ENGINE / "epochs" / "0" / "3.open.json").unlink()
    before = at_rest(root)
    with pytest.raises(DataError, match=r"E0431.*epoch 3"), site.connect() as fm:
        fm.advance(now=NOW)
    assert at_rest(root) == before


def test_a_lost_version_of_the_definitions_is_refused(site: Site) -> None:
    root = site.root / "warehouse"
    with site.connect() as fm:
        fm.execute("CREATE TABLE u (a INT)")
    (root / ENGINE / "catalog" / "00000002.json").unlink()
    before = at_rest(root)
    with site.connect() as fm, pytest.raises(DataError, match=r"E0431.*catalog version 2"):
        fm.advance(now=NOW)
    assert at_rest(root) == before


def test_what_a_lost_seal_said_is_found_out_again(site: Site) -> None:
    """A source's commit tells its record; a view and a table do their epoch again, and it is so."""
    root = site.root / "warehouse"
    with site.connect() as fm:
        take_in(site, fm, 3)
        log = fm.warehouse.log
        head = log.head()
        before, rows_before = records_of(log, head.sealed), digests(root)
        (root / ENGINE / "epochs" / "0" / f"{head.sealed}.seal.json").unlink()
    assert {"s", "p", "t"} <= before.keys()
    with site.connect() as fm:
        fm.advance(now=NOW)
        assert log.head() == head and records_of(log, head.sealed) == before
    assert digests(root) == rows_before


def records_of(log: EpochLog, epoch: int) -> Mapping[str, ObjectRecord]:
    """Return what an epoch did, but for what it cost."""
    objects = log.seal_record(epoch).objects
    return {key: replace(record, duration_s=0.0, price=Price()) for key, record in objects.items()}


def test_each_table_alone_tells_of_a_lost_epoch(site: Site) -> None:
    root = site.root / "warehouse"
    with site.connect() as fm:
        take_in(site, fm, 3)
        log, last = fm.warehouse.log, fm.warehouse.log.head().sealed
        seal = log.seal_record(last)
    for kind in ("open", "seal"):
        (root / ENGINE / "epochs" / "0" / f"{last}.{kind}.json").unlink()
    written = (
        versions_of(seal.objects.values()).items()
        - versions_of(log.seal_record(last - 1).objects.values()).items()
    )
    assert {"_rows/public/s", "_rows/public/p", "_rows/public/t", "_changes/public/t"} <= dict(
        written
    ).keys()
    for table, _ in written:
        store = DeltaStore(root)
        alone = mock.patch.object(store, "tables", lambda name=table: iter([name]))
        with alone, pytest.raises(OtherHistory, match=f"E0433.*epoch {last}"):
            refuse_tables_ahead(log, store)


@pytest.mark.parametrize("kept", [0, 40], ids=["emptied", "cut"])
def test_a_damaged_newest_commit_gives_no_fewer_rows(site: Site, kept: int) -> None:
    root = site.root / "warehouse"
    epochs = EpochLog(root).head().sealed
    version = EpochLog(root).seal_record(epochs).objects["s"].versions["_rows/public/s"]
    path = root / "_rows/public/s" / commit_key(version)
    whole = path.read_bytes()
    path.write_bytes(whole[:kept])
    with site.connect() as fm, pytest.raises(DataError, match=r"E0435.*public/s"):
        fm.execute("SELECT count(*) FROM s")
    path.write_bytes(whole)
    with site.connect() as fm:
        take_in(site, fm, 3)
        assert fm.execute("SELECT count(*) FROM s").rows == ((40,),)


def as_former_version(root: Path) -> None:
    """Write records and commits as the versions did that had neither envelopes nor ids."""
    (root / ENGINE / SETTINGS).unlink()
    for path in (root / ENGINE).rglob("*.json"):
        record = read_record(LocalObjects(path.parent), path.name)
        assert record is not None
        path.write_text(to_text(record.body))
    for path in root.rglob("_delta_log/*.json"):
        first, *rest = path.read_text().splitlines(keepends=True)
        action = json.loads(first)
        told = json.loads(action.get("commitInfo", {}).get("userMetadata") or "{}")
        if told:
            for name in ("format", "record", "actions"):
                told.pop(name, None)
            action["commitInfo"]["userMetadata"] = json.dumps(told)
            path.write_text("".join([json.dumps(action) + "\n", *rest]))


def test_a_warehouse_of_a_former_version_goes_on(site: Site) -> None:
    root = site.root / "warehouse"
    put(site.landing, "3", rows(3))
    with site.connect() as fm, dying_at("first_table_committed"):
        fm.advance(now=NOW)
    as_former_version(root)
    with site.connect() as fm:
        fm.advance(now=NOW)
        take_in(site, fm, 4)
        fm.execute("INSERT INTO t VALUES ('z', 9)")
        assert fm.execute("SELECT count(*), count(DISTINCT id) FROM s").rows == ((50, 50),)
    assert sum(n for k, n, _ in visible(root, "t") if k != "z") == 50


def test_every_commit_of_an_epoch_names_its_record(site: Site) -> None:
    root = site.root / "warehouse"
    with site.connect() as fm:
        take_in(site, fm, 3)
        head = fm.warehouse.log.head().sealed
        opened = fm.warehouse.log.open_record(head)
    found = set()
    for path in root.rglob("_delta_log/*.json"):
        lines = path.read_text().splitlines()
        told = json.loads(json.loads(lines[0]).get("commitInfo", {}).get("userMetadata") or "{}")
        if told.get("epoch") == head and "maintenance" not in told:
            found.add(path.parent.parent.relative_to(root).as_posix())
            assert told["format"] == FORMAT and told["record"] == opened.id and told["attempt"]
            assert told["actions"] == len(lines)
    assert {"_rows/public/s", "_rows/public/p", "_rows/public/t", "_changes/public/t"} <= found
