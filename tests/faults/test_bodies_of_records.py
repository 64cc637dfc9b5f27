"""Records that are whole JSON and say something else than their kind does. No Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from floodmark.api import connect
from floodmark.cli.app import app
from floodmark.errors import DataError, FloodmarkError
from floodmark.storage.checks.log_check import check_logs
from floodmark.storage.durability import Choice, read_choice
from floodmark.storage.logs.backfills import BackfillLog, BackfillStep, versions_of_backfills
from floodmark.storage.logs.catalog import AppliedStatement, CatalogLog, CatalogVersion, TakenBack
from floodmark.storage.logs.correction_versions import CorrectedTables
from floodmark.storage.logs.epoch_additions import Advanced, Amended, Asked, Undone
from floodmark.storage.logs.epochs import EpochLog, Event, ObjectRecord, OpenRecord, SealRecord
from floodmark.storage.logs.last_reported import LastReport, LastReports
from floodmark.storage.logs.pending_drops import PendingDrops, PendingTables
from floodmark.storage.logs.retention import KeptEpochs, Retention
from floodmark.storage.logs.seed import Drawn, find_seed
from floodmark.storage.records.text import Record, new_id, number_in, record_text, to_text
from floodmark.tables.clock import ClockGuard

NOW = datetime(2024, 1, 1, tzinfo=UTC)
ENTRY = {"table": "public.t", "paths": [], "rows": 0, "start": 0}
SAID = ObjectRecord("public.t", {"_rows/public/t": 1})
EVENT = Event("note", 1, NOW)
TAKEN = TakenBack(1, "", "why")
KINDS: dict[str, tuple[Any, Callable[[Path], Any]]] = {
    "warehouse.json": (Choice(True), read_choice),
    "kept.json": (KeptEpochs(1, NOW), lambda root: Retention(root).kept_epochs()),
    "leaving.json": (
        PendingTables(1, ["_rows/public/t"]),
        lambda root: PendingDrops(root).pending(),
    ),
    "seed": (Drawn("ab"), find_seed),
    "catalog/00000001.json": (
        CatalogVersion(1, 1, (AppliedStatement("SELECT 1", None, "x", None),), NOW, dml=[ENTRY]),
        lambda root: CatalogLog(root).latest(),
    ),
    "epochs/0/1.open.json": (
        OpenRecord(1, NOW, 1, NOW, {"s": [{}]}, [ENTRY], {"s": {0: 1}}, backfills={"v": SAID}),
        lambda root: EpochLog(root).open_record(1),
    ),
    "epochs/0/1.seal.json": (
        SealRecord(1, NOW, {"t": SAID}, {"t": EVENT}),
        lambda root: EpochLog(root).seal_record(1),
    ),
    "epochs/0/1.event-000000.json": (EVENT, lambda root: EpochLog(root).events(1)),
    "epochs/0/1.advanced-000000.json": (
        Advanced([SAID]),
        lambda root: EpochLog(root).partial_records(1),
    ),
    "epochs/0/1.amended-000000.json": (
        Amended({"s": [{}]}),
        lambda root: EpochLog(root).open_record(1),
    ),
    "epochs/0/1.undone-000000.json": (
        Undone(1, {"s": {0: 1}}, "why"),
        lambda root: EpochLog(root).open_record(1),
    ),
    "epochs/0/1.asked-000000.json": (
        Asked("t", 1),
        lambda root: EpochLog(root).pin(1, "t", None),
    ),
    "backfills/v.1/000000.step.json": (
        BackfillStep(1),
        lambda root: BackfillLog(root, "v", 1)._step(0),
    ),
    "backfills/v.1/000000.done.json": (SAID, lambda root: list(versions_of_backfills(root))),
}
DERIVED: dict[str, tuple[Any, Callable[[Path], Any]]] = {
    "reported.json": ({"t": asdict(LastReport(3))}, lambda root: LastReports(root).all_reports()),
    "corrected.json": ({"public/t": 3}, lambda root: CorrectedTables(root).versions()),
    "clock.json": (
        {"time": "2024-01-01", "boot": "", "counted": 0.5},
        lambda root: ClockGuard(root, EpochLog(root), timedelta())._read_witness(),
    ),
    "epochs/0/discovered.json": ({"s": 1}, lambda root: EpochLog(root).last_discovery()),
}
"""What these say can be found out again."""
BARE = ("{}", "[]", "null", "7.5", '{"format": 0}', '{"format": true}', '{"x": {"$date": "x"}}')
BARE += ('{"$decimal": "x"}', "[" * 100_000)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a warehouse with a table, of which each test has a copy."""
    home = tmp_path_factory.mktemp("made") / "warehouse"
    with connect(home) as fm:
        fm.execute("CREATE TABLE t (k INT)")
    return home


@pytest.fixture
def home(tmp_path: Path, made: Path) -> Path:
    """Return a warehouse with a table."""
    return Path(shutil.copytree(made, tmp_path / "warehouse"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, made: Path) -> Path:
    """Return a warehouse with a record of each kind, of which each test has a copy."""
    home = Path(shutil.copytree(made, tmp_path_factory.mktemp("recorded") / "warehouse"))
    for name in KINDS:
        write(home, name, _said(name))
    for name, (body, _) in DERIVED.items():
        write(home, name, body)
    return home


@pytest.fixture
def root(tmp_path: Path, recorded: Path) -> Path:
    """Return a warehouse with a record of each kind."""
    return Path(shutil.copytree(recorded, tmp_path / "warehouse"))


def _said(name: str) -> dict[str, Any]:
    body = asdict(KINDS[name][0])
    body.pop("id", None)
    return body


def write(root: Path, name: str, body: Any) -> None:
    path = root / "_floodmark" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(record_text(path.name, Record(body, number_in(path.name) or 0, new_id())))


def wrong_by_name(root: Path) -> dict[str, str]:
    return {c.name: c.error.code for c in check_logs(root) if c.error is not None}


def test_records_of_all_kinds_are_as_they_were_written(root: Path) -> None:
    assert not wrong_by_name(root)
    for name, (_, read) in (KINDS | DERIVED).items():
        read(root)
        path = root / "_floodmark" / name
        whole = path.read_text()
        path.write_text(json.dumps(json.loads(whole)["body"]))
        read(root)
        assert not wrong_by_name(root), name
        path.write_text(whole)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("text", BARE)
def test_what_lacks_its_fields_is_damaged(root: Path, name: str, text: str) -> None:
    (root / "_floodmark" / name).write_text(text)
    assert wrong_by_name(root)[name] == "E0409"
    with pytest.raises(DataError, match="E0409") as raised:
        KINDS[name][1](root)
    assert name.rpartition("/")[2] in raised.value.message


@pytest.mark.parametrize("name", DERIVED)
@pytest.mark.parametrize("text", BARE)
def test_what_can_be_found_out_counts_as_none_then(root: Path, name: str, text: str) -> None:
    path = root / "_floodmark" / name
    with_it = DERIVED[name][1](root)
    path.write_text(text)
    assert DERIVED[name][1](root) != with_it
    if name != "epochs/0/discovered.json" or not text.startswith("{"):
        assert wrong_by_name(root)[name] == "E0409"


STRAYS = ("epochs/0/x.json", "epochs/0/1.json", "epochs/x.json", "catalog/notes.json", "mine.json")


@pytest.mark.parametrize("name", STRAYS)
def test_what_somebody_else_has_put_there_is_not_damaged(root: Path, name: str) -> None:
    (root / "_floodmark" / name).touch()
    assert not wrong_by_name(root)


def test_a_file_for_the_folder_of_the_lease_has_a_code(home: Path) -> None:
    shutil.rmtree(home / "_floodmark" / "lease")
    (home / "_floodmark" / "lease").touch()
    shown = CliRunner().invoke(app, ["doctor", "--json", "--warehouse", str(home)])
    (told,) = [c["message"] for c in json.loads(shown.stdout) if c["name"] == "lease"]
    assert shown.exit_code == 1 and told.startswith("[E0455]")


def changed(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Return bodies of a kind that are wrong in one field each, by what is wrong."""
    body = _said(name)
    known = [f for f in fields(KINDS[name][0]) if f.name in body]
    out = {f"{f.name} of another type": {**body, f.name: [[None]]} for f in known}
    for f in known:
        if f.default is MISSING and f.default_factory is MISSING:
            out[f"no {f.name}"] = {k: v for k, v in body.items() if k != f.name}
    return out


@pytest.mark.parametrize("name", KINDS)
def test_a_field_of_another_type_is_damaged(root: Path, name: str) -> None:
    for what, body in changed(name).items():
        write(root, name, body)
        assert wrong_by_name(root).get(name) == "E0409", what
        with pytest.raises(DataError, match="E0409"):
            KINDS[name][1](root)


@pytest.mark.parametrize("name", KINDS)
def test_a_field_that_is_not_known_is_of_a_newer_version(root: Path, name: str) -> None:
    body = {**_said(name), "unknown": 1}
    write(root, name, body)
    assert wrong_by_name(root)[name] == "E0430"
    with pytest.raises(DataError, match="E0430") as raised:
        KINDS[name][1](root)
    assert name.rpartition("/")[2] in raised.value.message
    assert raised.value.detail == "unknown is not known"
    # Without an envelope nothing says that the record is whole.
    (root / "_floodmark" / name).write_text(to_text(body))
    assert wrong_by_name(root)[name] == "E0409"


@pytest.mark.parametrize("name", [*KINDS, *DERIVED])
def test_so_is_one_beside_the_body(root: Path, name: str) -> None:
    path = root / "_floodmark" / name
    for text in (path.read_text().replace('{"format"', '{"unknown":1,"format"', 1), None):
        # What the checksum is of may be another thing then.
        path.write_text(text or path.read_text().replace('"crc32c":"', '"crc32c":"0', 1))
        assert wrong_by_name(root)[name] == "E0430"
        with pytest.raises(DataError, match="E0430") as raised:
            (KINDS | DERIVED)[name][1](root)
        assert name.rpartition("/")[2] in raised.value.message
        assert raised.value.detail == "unknown is not known"


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("epochs/0/1.open.json", {"dml": [{**ENTRY, "unknown": 1}]}),
        ("epochs/0/1.seal.json", {"objects": {"t": {**asdict(SAID), "unknown": 1}}}),
        ("catalog/00000001.json", {"takes_back": {"unknown": 1, **asdict(TAKEN)}}),
        ("epochs/0/1.open.json", {"backfills": {"v": {**asdict(SAID), "unknown": 1}}}),
    ],
)
def test_so_is_one_further_in(root: Path, name: str, body: Any) -> None:
    write(root, name, {**_said(name), **body})
    with pytest.raises(DataError, match="E0430"):
        KINDS[name][1](root)


def test_what_a_newer_version_found_out_stays(root: Path) -> None:
    write(root, "clock.json", {**DERIVED["clock.json"][0], "unknown": 1})
    path = root / "_floodmark" / "clock.json"
    before = path.read_bytes()
    with pytest.raises(DataError, match="E0430"):
        DERIVED["clock.json"][1](root)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("epochs/0/1.open.json", {"dml": [{"table": "public.t", "rows": 1}]}),
        ("epochs/0/1.open.json", {"positions": {"s": {"x": 1}}}),
        ("epochs/0/1.open.json", {"backfills": {"v": {}}}),
        ("epochs/0/1.seal.json", {"objects": {"t": {"object": "t", "versions": {"t": "1"}}}}),
        ("epochs/0/1.seal.json", {"suspended": {"t": {**asdict(EVENT), "kind": "other"}}}),
        ("catalog/00000001.json", {"statements": [{"sql": "SELECT 1"}]}),
        ("catalog/00000001.json", {"takes_back": {"version": 1}}),
    ],
)
def test_so_is_what_lacks_a_field_further_in(root: Path, name: str, body: Any) -> None:
    write(root, name, {**_said(name), **body})
    with pytest.raises(DataError, match="E0409"):
        KINDS[name][1](root)


TEXTS = ("{}", "[]", '{"format": 0}')


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(name, text, marks=() if kind % len(TEXTS) == which else pytest.mark.long)
        for kind, name in enumerate((*KINDS, *DERIVED))
        for which, text in enumerate(TEXTS)
    ],
)
def test_commands_have_a_code_for_it(name: str, text: str, home: Path, tmp_path: Path) -> None:
    path = home / "_floodmark" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "a.sql").write_text("CREATE TABLE u (k INT);")
    where = ["--warehouse", str(home)]
    place = ["--pipelines", str(tmp_path / "pipelines")]
    for command in (["status"], ["doctor", *place], ["verify"], ["plan", "--apply", *place]):
        shown = CliRunner().invoke(app, [*command, *where])
        assert shown.exception is None or isinstance(shown.exception, SystemExit | FloodmarkError)
