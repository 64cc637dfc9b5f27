"""What a newer version wrote last is seen before anything is written, in whatever log. No Spark."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from floodmark.api import Floodmark, connect
from floodmark.cli.app import app
from floodmark.errors import DataError
from floodmark.storage.backup.backup import back_up
from floodmark.storage.backup.manifest import MANIFEST, backups
from floodmark.storage.backup.restore import restore
from floodmark.storage.checks.log_check import check_logs
from floodmark.storage.logs.backfills import BackfillStep
from floodmark.storage.logs.epoch_additions import Advanced, Amended, Asked
from floodmark.storage.logs.epochs import Event, ObjectRecord
from floodmark.storage.logs.pending_drops import PendingTables
from floodmark.storage.logs.record_kinds import KINDS, kind_of
from floodmark.storage.logs.retention import KeptEpochs
from floodmark.storage.records.text import Record, new_id, number_in, record_text, to_text
from floodmark.storage.records.upgrades import FORMAT

NOW = datetime(2024, 1, 1, tzinfo=UTC)
SAID = ObjectRecord("t", {"_rows/public/t": 1})
ADDED: Mapping[str, Any] = {
    "kept.json": asdict(KeptEpochs(1, NOW)),
    "leaving.json": asdict(PendingTables(1, ["_rows/public/gone"])),
    "reported.json": {},
    "corrected.json": {"public/t": 1},
    "epochs/0/discovered.json": {},
    "epochs/0/4.event-000000.json": asdict(Event("note", 4, NOW)),
    "epochs/0/4.advanced-000000.json": asdict(Advanced([SAID])),
    "epochs/0/4.amended-000000.json": asdict(Amended({})),
    "epochs/0/4.asked-000000.json": asdict(Asked("t", 1)),
    "epochs/0/4.undone-000000.json": {"catalog_version": 1, "positions": {}, "note": ""},
    "backfills/v.1/000000.step.json": {"epoch": BackfillStep(1).epoch},
    "backfills/v.1/000000.done.json": asdict(SAID),
    "backfills/v.1/ready.json": {},
}
"""What is in the warehouse beside what its statements have written."""
WRITTEN = (
    "warehouse.json", "seed", "clock.json", "catalog/00000003.json",
    "epochs/0/3.open.json", "epochs/0/3.seal.json",
)  # fmt: skip
NEWEST = (*WRITTEN, *ADDED)
FURTHER_BACK = ("catalog/00000001.json", "epochs/0/2.open.json", "epochs/0/2.seal.json")
Change = Callable[[dict[str, Any]], dict[str, Any]]
CHANGES: Mapping[str, tuple[Change, str]] = {
    "format": (lambda record: {**record, "format": 9}, f"format 9.*formats up to {FORMAT}"),
    "field beside the body": (lambda record: {**record, "codec": "zstd"}, "codec is not known"),
}
WRITERS: Mapping[str, Callable[[Floodmark], Any]] = {
    "advance": lambda fm: fm.advance(),
    "create": lambda fm: fm.execute("CREATE TABLE x (k INT)"),
    "drop": lambda fm: fm.execute("DROP TABLE t"),
}
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "backfill": ("t", "--from", "2024-01-01", "--to", "2024-01-02"),
    "backup": ("{aside}/made",),
    "diff": ("t", "u"),
    "explain": ("t",),
    "plan": (),
    "replay": (),
    "report": ("--out", "{aside}/made"),
    "rollback": (),
    "run": (),
    "sql": ("SHOW OBJECTS",),
    "status": (),
    "verify": (),
    "watch": ("t",),
}
"""The commands on a warehouse, with arguments."""
OTHERS: Mapping[str, str] = {
    "demo": "it runs in the folder of its project alone, and opens its warehouse as the others do",
    "doctor": "it says that the warehouse is of a newer version",
    "lint": "it reads no warehouse",
    "restore": "it makes the warehouse",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("newer") / "warehouse"
    with connect(root) as fm:
        for name in ("t", "u", "w"):
            fm.execute(f"CREATE TABLE {name} (k INT)")
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "warehouse")
    return tmp_path / "warehouse"


def change(root: Path, name: str, how: Change) -> Path:
    """Let a record be one of a newer version."""
    path = root / "_floodmark" / name
    if name in ADDED:
        path.parent.mkdir(parents=True, exist_ok=True)
        record = Record(ADDED[name], number_in(path.name) or 0, new_id())
        path.write_text(record_text(path.name, record))
    path.write_text(to_text(how(json.loads(path.read_text()))))
    return path


def at_rest(root: Path) -> dict[Path, bytes]:
    files = (p for p in root.rglob("*") if p.is_file() and "lease" not in p.parts)
    return {path: path.read_bytes() for path in files}


def test_every_kind_of_record_is_among_them() -> None:
    kinds = [kind for _, kind in KINDS]
    assert all(kind_of(name) is not None for name in NEWEST)
    assert all(any(kind_of(name) is kind for name in NEWEST) for kind in kinds)


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("name", NEWEST)
def test_no_writer_goes_on(root: Path, name: str, what: str) -> None:
    how, says = CHANGES[what]
    path = change(root, name, how)
    before = at_rest(root)
    for writer, write in WRITERS.items():
        with pytest.raises(DataError, match=f"(?s)E0430.*{says}") as raised, connect(root) as fm:
            assert name != "warehouse.json", "a warehouse of a newer version was opened"
            write(fm)
        assert path.name in raised.value.message, writer
        assert raised.value.hint == (
            "use the version of Floodmark that wrote it; nothing has been changed"
        )
        assert at_rest(root) == before, writer
    assert {c.name: c.error.code for c in check_logs(root) if c.error}[name] == "E0430"


@pytest.mark.parametrize("name", FURTHER_BACK)
def test_records_further_back_are_read_by_verify(root: Path, name: str) -> None:
    """A newer version ends with its own records: one before others is no epoch's concern."""
    change(root, name, CHANGES["format"][0])
    with connect(root) as fm:
        fm.execute("CREATE TABLE x (k INT)")
        found = list(fm.verify())
    assert found and all(f.code == "E0430" and "format 9" in f.message for f in found)
    assert len(found) == len({f.message for f in found})


def test_verify_names_the_field_that_is_not_known(root: Path) -> None:
    how, says = CHANGES["field beside the body"]
    change(root, "epochs/0/3.seal.json", how)
    told = CliRunner().invoke(app, ["verify", "-w", str(root)])
    assert told.exit_code == 1 and re.search(says, told.stdout)


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_reads_a_newer_warehouse(root: Path, command: str, what: str) -> None:
    how, says = CHANGES[what]
    change(root, "warehouse.json", how)
    before = at_rest(root)
    arguments = [part.format(aside=root.parent) for part in COMMANDS[command]]
    told = CliRunner().invoke(app, [command, *arguments, "--json", "-w", str(root)])
    error = json.loads(told.stderr)["error"]
    assert (told.exit_code, error["code"]) == (1, "E0430")
    assert re.search(says, f"{error['message']} {error.get('detail')}")
    assert at_rest(root) == before and not (root.parent / "made").exists()


def test_every_command_on_a_warehouse_is_among_them() -> None:
    commands = {str(command.name) for command in app.registered_commands}
    assert commands == COMMANDS.keys() | OTHERS.keys()


def test_a_damaged_warehouse_json_is_none_of_a_newer_version(root: Path) -> None:
    (root / "_floodmark" / "warehouse.json").write_text("{")
    with connect(root) as fm:
        assert fm.status().keys() == {"t", "u", "w"}


@pytest.mark.parametrize(
    "name", ["warehouse.json", "kept.json", "epochs/0/3.seal.json", "backfills/v.1/ready.json"]
)
def test_the_doctor_tells_it_once(root: Path, name: str) -> None:
    change(root, name, CHANGES["format"][0])
    told = CliRunner().invoke(app, ["doctor", "--json", "-w", str(root)])
    (failed,) = [c for c in json.loads(told.stdout) if c["state"] == "fail"]
    assert told.exit_code == 1 and "format 9" in failed["message"]


def test_what_is_damaged_is_left_to_its_reader(root: Path) -> None:
    (root / "_floodmark" / "reported.json").write_text("{")
    with connect(root) as fm:
        fm.execute("CREATE TABLE x (k INT)")


def test_an_entry_of_rows_with_a_field_that_is_not_known_is_refused(root: Path) -> None:
    path = root / "_floodmark" / "catalog" / "00000003.json"
    body = json.loads(path.read_text())["body"]
    entry = {"table": "t", "paths": [], "rows": 0, "start": 0, "sorted": True}
    path.write_text(record_text(path.name, Record({**body, "dml": [entry]}, 3, new_id())))
    before = at_rest(root)
    with connect(root) as fm, pytest.raises(DataError, match="E0430") as raised:
        fm.execute("CREATE TABLE x (k INT)")
    assert raised.value.detail is not None and "sorted is not known" in raised.value.detail
    assert at_rest(root) == before


def test_a_lease_says_nothing_that_a_run_goes_by(root: Path) -> None:
    """The lock of the system tells whether it is held: a newer holder that died stops nobody."""
    holder = root / "_floodmark" / "lease" / "holder"
    holder.write_text('{"pid": 1, "zone": "west"}')
    with connect(root) as fm:
        assert fm.warehouse.lease.holder() is None
        fm.execute("CREATE TABLE x (k INT)")


NEWER_MANIFESTS: Mapping[str, tuple[int, Mapping[str, Any], str]] = {
    "format": (0, {"format": 2}, r"format 2.*formats up to 1"),
    "field of the backup": (0, {"codec": "zstd"}, "does not know.*codec is not known"),
    "field of a file": (1, {"codec": "zstd"}, "does not know.*codec is not known"),
}


@pytest.mark.parametrize("what", NEWER_MANIFESTS)
def test_a_backup_of_a_newer_version_is_told_as_one(what: str, root: Path, tmp_path: Path) -> None:
    line, added, says = NEWER_MANIFESTS[what]
    made = back_up(root, tmp_path / "backups")
    manifest = made.folder / MANIFEST
    lines = manifest.read_text().splitlines()
    lines[line] = json.dumps({**json.loads(lines[line]), **added})
    manifest.write_text("\n".join([*lines, ""]))
    before = at_rest(made.folder)
    for named in (made.folder, made.folder.parent):
        with pytest.raises(DataError, match=f"(?s)E0430.*{made.folder.name}.*{says}"):
            restore(named, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    if line == 0:
        told = CliRunner().invoke(app, ["backup", str(tmp_path / "backups"), "--list"]).stdout
        assert re.search(f"{made.folder.name}  newer: .*this version of Floodmark", told)
        listed = ["backup", str(tmp_path / "backups"), "--list", "--json"]
        assert {*json.loads(CliRunner().invoke(app, listed).stdout)[0]} == {"folder", "newer"}
    other = back_up(root, tmp_path / "backups")
    assert other in backups(tmp_path / "backups") and at_rest(made.folder) == before
