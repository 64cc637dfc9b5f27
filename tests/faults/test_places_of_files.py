"""What is no file in the place of one: every command ends soon, with a code, and says it.

Each kind of file of a warehouse is replaced by each kind of other thing, one at a time. Nothing new
is there to take in, so that only what lies there is looked at.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import floodmark
from floodmark.api import connect
from floodmark.cli.app import app
from floodmark.connectors.sinks.files import MARK, FilesSender
from floodmark.connectors.sinks.identity import SinkIdentity
from floodmark.connectors.sinks.sink_batch import SinkBatch
from floodmark.errors import FloodmarkError
from floodmark.limits import LIMITS
from floodmark.scalar.types import INT, Field
from floodmark.spark.session import Sessions
from floodmark.storage.backup.backup import back_up
from floodmark.storage.backup.manifest import MANIFEST, find_backups
from floodmark.storage.backup.restore import restore
from floodmark.storage.logs.backfills import BackfillLog, BackfillStep
from floodmark.storage.logs.epochs import EpochLog, ObjectRecord
from floodmark.storage.logs.last_reported import LastReport, LastReports
from floodmark.storage.logs.pending_drops import PendingDrops
from floodmark.storage.logs.retention import Retention
from floodmark.stream.objects.external_sink import ExternalSink, SinkType
from floodmark.tables.clock import ClockGuard
from tests.warehouses import GROUPED, JOINED, NAMES, READINGS, SUNK, Site, put, readings

SECONDS = 30
CODED = r"\bE0\d{3}\b|suspended  |is missing"
_OVERRIDE = 0b110
"""The capabilities to write and to read what permissions forbid."""


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link_to(target: Path) -> Callable[[Path], None]:
    def link(path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return link


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _socket(path: Path) -> None:
    path.unlink()
    with chdir(path.parent), socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


THINGS: dict[str, Callable[[Path], object]] = {
    "a folder": _folder,
    "a link to nothing": _link_to(Path("nothing-of-that-name")),
    "a link to a folder": _link_to(Path("/")),
    "a pipe": _pipe,
    "a socket": _socket,
    "an unreadable file": lambda path: path.chmod(0),
    "an empty file": lambda path: path.write_bytes(b""),
}
ALL = ("doctor", "verify", "backup")
FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "the newest open record": ("_floodmark/epochs/0/4.open.json", ALL),
    "an older open record": ("_floodmark/epochs/0/2.open.json", ALL),
    "the newest seal": ("_floodmark/epochs/0/4.seal.json", ALL),
    "an older seal": ("_floodmark/epochs/0/2.seal.json", ALL),
    "an event": ("_floodmark/epochs/0/2.event-000000.json", ("verify", "backup")),
    "the catalog": ("_floodmark/catalog/00000001.json", ALL),
    "what the warehouse is": ("_floodmark/warehouse.json", ALL),
    "the clock": ("_floodmark/clock.json", ALL),
    "what is kept": ("_floodmark/kept.json", ALL),
    "the seed": ("_floodmark/seed", ALL),
    "what is reported": ("_floodmark/reported.json", ("doctor", "verify")),
    "what leaves": ("_floodmark/leaving.json", ("doctor", "verify")),
    "a step of a backfill": ("_floodmark/backfills/st.1/000000.step.json", ("verify",)),
    "what came of a step": ("_floodmark/backfills/st.1/000000.done.json", ("doctor", "verify")),
    "the lease": ("_floodmark/lease/holder", ()),
    "a ticket": ("_floodmark/lease/ticket-000000000001", ()),
    "rows of a statement": ("_floodmark/dml/**/*.parquet", ("verify",)),
    "the newest commit": ("_changes/public/st/_delta_log/*.json", ALL),
    "the first commit": ("_rows/public/j/_delta_log/*0.json", ALL),
    "a commit of dead letters": ("_dead_letter/public/j/_delta_log/*.json", ALL),
    "a commit of a state": ("_state/public/kk__sink/*/_delta_log/*.json", ALL),
    "a checkpoint": ("_rows/public/st/_delta_log/*.checkpoint.parquet", ALL),
    "the name of the checkpoint": ("_rows/public/st/_delta_log/_last_checkpoint", ()),
    "rows": ("_rows/public/s/**/*.parquet", ("verify", "backup")),
    "dead letters": ("_dead_letter/public/j/**/*.parquet", ("doctor", "verify", "backup")),
}
"""Where each kind lies, and which commands have to say that something is wrong."""
CASES = [(kind, thing) for kind in FILES for thing in THINGS]
DAILY = {(kind, list(THINGS)[n % len(THINGS)]) for n, kind in enumerate(FILES)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Site:
    """Return a warehouse that has every kind of file."""
    site = Site(tmp_path_factory.mktemp("places"), sessions)
    site.define(READINGS, NAMES, JOINED, GROUPED, SUNK)
    root, now = site.root / "warehouse", datetime.now(UTC)
    with site.connect() as fm:
        fm.deploy(site.pipelines)
        for number in range(2):
            put(site.landing, str(number), readings(20 * number, 20))
            fm.advance()
        fm.warehouse.log.record("note", now, "of the next epoch")
        fm.execute("INSERT INTO d VALUES ('a', 'first')")
        fm.store.checkpoint("_rows/public/st")
    log = EpochLog(root)
    ClockGuard(root, log, timedelta()).note(now)
    Retention(root).keep_from(1, now)
    LastReports(root).write({"st": LastReport(epoch=1)})
    PendingDrops(root).write(1, ["_rows/public/left"])
    backfill = BackfillLog(root, "st", 1)
    backfill.begin(0, BackfillStep(1))
    backfill.finish(0, ObjectRecord("st", {"_rows/public/st": 1}))
    event = root / "_floodmark/epochs/0/4.event-000000.json"
    shutil.copy(event, event.with_name("2.event-000000.json"))
    return site


@pytest.mark.spark
@pytest.mark.parametrize(
    ("kind", "thing"),
    [
        pytest.param(*case, marks=() if case in DAILY else pytest.mark.long, id=" ".join(case))
        for case in CASES
    ],
)
def test_what_is_no_file_is_told(kind: str, thing: str, site: Site, tmp_path: Path) -> None:
    root = Path(shutil.copytree(site.root / "warehouse", tmp_path / "warehouse"))
    pattern, telling = FILES[kind]
    ticket = root / "_floodmark/lease/ticket-000000000001"
    ticket.touch()
    victim = max(root.glob(pattern))
    THINGS[thing](victim)
    commands = ["status", "doctor", "verify", "backup", "run"]
    with without_override():
        done = {command: _command(command, root, site, tmp_path) for command in commands}
    for command, result in done.items():
        said = f"{command}: {result.output}"
        assert result.exception is None or isinstance(result.exception, SystemExit), said
        assert result.exit_code in (0, 1, 2, 3), said
        assert result.exit_code == 0 or re.search(CODED, result.output), said
        assert "[Errno" not in result.output, said
        if command in telling:
            assert result.exit_code != 0, said


def _command(command: str, root: Path, site: Site, tmp_path: Path) -> Result:
    given = {"run": ("-p", site.pipelines), "backup": (tmp_path / "backups",)}.get(command, ())
    with ending_soon():
        return CliRunner().invoke(app, [command, *map(str, given), "-w", str(root)])


@pytest.mark.parametrize("thing", THINGS)
def test_what_is_no_mark_of_a_sink_is_told(thing: str, tmp_path: Path) -> None:
    sink = ExternalSink("files", SinkType.RETRACT, tmp_path / "out", "json", (Field("k", INT),))
    sender = FilesSender(sink, SinkIdentity("f", "seed"), limits=LIMITS)
    sender.send(1, SinkBatch(1, piece=9), initial=True)
    THINGS[thing](tmp_path / "out" / MARK)
    with without_override(), ending_soon():
        if thing == "an empty file":
            sender.send(2, SinkBatch(2, piece=9), initial=True)
        else:
            with pytest.raises(FloodmarkError, match="E0741"):
                sender.send(2, SinkBatch(2, piece=9), initial=True)


@pytest.mark.parametrize("thing", [t for t in THINGS if t != "an unreadable file"])
def test_what_is_no_file_of_a_backup_is_told(thing: str, tmp_path: Path) -> None:
    root, backups = tmp_path / "warehouse", tmp_path / "backups"
    with connect(root) as fm:
        fm.execute("CREATE TABLE t (k INT)")
    first, second = (back_up(root, backups) for _ in range(2))
    THINGS[thing](second.folder / MANIFEST)
    with ending_soon():
        assert [d.folder for d in find_backups(backups)[1]] == [second.folder]
        assert back_up(root, backups).copied_bytes == 0
    record = first.folder / "_floodmark/epochs/0/1.open.json"
    THINGS[thing](record)
    with ending_soon(), pytest.raises(FloodmarkError, match=r"E0444.*1\.open\.json"):
        restore(first.folder, tmp_path / "again")


@contextmanager
def ending_soon() -> Iterator[None]:
    """Raise where a block takes longer than a command may that waits for nobody."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError(f"still at work after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def without_override() -> Iterator[None]:
    """Let permissions hold for this thread, and those it starts, where root runs the tests."""
    libc, header = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522, 0)
    held, less = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, held) == 0
    less[:] = held[:]
    less[0] &= ~_OVERRIDE & 0xFFFFFFFF
    assert libc.capset(header, less) == 0
    try:
        yield
    finally:
        assert libc.capset(header, held) == 0


def test_files_of_tables_are_opened_once_it_is_known_that_they_are_files() -> None:
    opens = re.compile(r"pq\.(?:ParquetFile|ParquetWriter|read_\w+|write_\w+)\(")
    package, others = Path(floodmark.__file__).parent, {"connectors", "storage", "testing"}
    looked_at = [p for p in package.rglob("*.py") if p.relative_to(package).parts[0] not in others]
    assert any("open_parquet(" in p.read_text() for p in looked_at)
    assert not [p for p in looked_at if opens.search(p.read_text())]
