"""`floodmark doctor`: checks of the machine and the warehouse, with remedies."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from floodmark.cli.options import (
    PIPELINES,
    WAIT,
    WAREHOUSE,
    CommandSettings,
    JsonOption,
    PipelinesOption,
    WaitOption,
    WarehouseOption,
)
from floodmark.cli.rendering import cell, duration, size
from floodmark.cli.session import command_connection, suspensions
from floodmark.errors import FloodmarkError
from floodmark.limits import Limit, each_limit

if TYPE_CHECKING:
    from floodmark.api import Floodmark
    from floodmark.storage.logs.epochs import ObjectRecord

OK, WARN, FAIL = "ok", "warn", "fail"
_ELSEWHERE = "choose another folder with --warehouse, or change its owner"
_STYLES = {OK: "green", WARN: "yellow", FAIL: "red"}
HELP = """Check this machine and the warehouse: Java, Spark, the Delta jars, the disk, the
lease, open epochs, the newest versions of all tables, watermarks that do not advance, suspended
objects, columns without a value, dead letters.

\b
  floodmark doctor
  floodmark doctor --verbose
  floodmark doctor --json

Starts nothing. With --verbose it first prints the limits of work, memory and time.
Exit code 1 if something must be repaired, 2 if an object is suspended.
"""


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of one check: `state` is ok, warn or fail; `remedy` is set unless it is ok."""

    name: str
    state: str
    message: str
    remedy: str = ""


VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print the limits, too: value, unit, meaning.")
]
RunProbe = Callable[[], Probe | Iterator[Probe]]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", help=HELP)(doctor)


def doctor(
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    settings = CommandSettings(warehouse, pipelines, wait, as_json)
    with command_connection(settings, checked=False) as connection:
        checks = list(examine(connection, settings))
        limits = list(each_limit(connection.warehouse.limits)) if verbose else []
    if settings.json:
        said = [asdict(c) for c in checks]
        whole = {"checks": said, "limits": [asdict(limit) for limit in limits]}
        typer.echo(json.dumps(whole if verbose else said))
    else:
        _show_limits(limits)
        _show(checks)
    if any(c.state == FAIL and c.name != "suspended" for c in checks):
        raise typer.Exit(1)
    raise typer.Exit(2 if any(c.state == FAIL for c in checks) else 0)


def examine(connection: Floodmark, settings: CommandSettings) -> Iterator[Probe]:
    """Yield the results of all checks, those of the machine first; a check that raises has failed.

    A cause that fails several checks is reported once. Without a warehouse, its checks are skipped.
    """
    from floodmark.storage.checks.verification import is_there

    try:
        there = is_there(connection.root, connection.store)
    except OSError:
        there = True  # each look says what is in its way
    looks: tuple[tuple[str, RunProbe, bool], ...] = (
        ("java", _java, True),
        ("delta jars", _jars, True),
        ("spark server", _server, True),
        ("warehouse", lambda: _warehouse(connection, settings), True),
        ("disk", lambda: _disk(connection), True),
        ("logs", lambda: _logs(connection), there),
        ("pipelines", lambda: _pipelines(connection, settings), True),
        ("sources", lambda: _sources(connection), there),
        ("lease", lambda: _lease(connection), there),
        ("epochs", lambda: _open_epoch(connection), there),
        ("tables", lambda: _tables(connection), there),
        ("suspended", lambda: _suspensions(connection), there),
        ("watermarks", lambda: _watermarks(connection), there),
        ("fields", lambda: _fields(connection), there),
        ("dead letters", lambda: _dead_letters(connection), there),
    )
    note, unseen = set[str](), dict[str, None]()
    for check in chain.from_iterable(_run_check(name, look) for name, look, due in looks if due):
        if check.state == FAIL and check.message in note:
            unseen[check.name] = None
        else:
            note.add(check.message)
            yield check
    if unseen:
        yield Probe("not checked", WARN, f"{', '.join(unseen)}: the failure above stops these, too",
                    "mend it, then look again")  # fmt: skip


def _run_check(name: str, look: RunProbe) -> Iterator[Probe]:
    """Yield what a look finds, or why it cannot be made."""
    from floodmark.storage.local_files import disk_errors

    try:
        with disk_errors("what a check needs"):
            found = look()
            yield from (found,) if isinstance(found, Probe) else found
    except FloodmarkError as error:
        yield Probe(name, FAIL, f"[{error.code}] {error.message}", error.hint or "")


def _java() -> Probe:
    from floodmark.spark.java import find_java

    found = find_java()
    return Probe("java", OK, f"{found.version}, {found.executable}")


def _jars() -> Probe:
    from floodmark.spark.cache import cache_folder

    jars = sorted((cache_folder() / "jars").rglob("*delta-spark*.jar"))
    if jars:
        return Probe("delta jars", OK, f"{jars[-1].name} in {jars[-1].parent}")
    return Probe("delta jars", WARN, "not in the cache yet",
                 "the first command that needs Spark fetches them")  # fmt: skip


def _server() -> Probe:
    from floodmark.spark.confs import default_config
    from floodmark.spark.server import status

    config = default_config()
    if config.remote is not None:
        return Probe("spark server", OK, f"remote: {config.remote}")
    server = status(config)
    if server.running:
        memory = size(server.resident_bytes or 0)
        text = f"process {server.pid}, up {duration(server.uptime_seconds or 0)}, {memory}"
        return Probe("spark server", OK, text)
    return Probe("spark server", OK, "does not run; the next command that needs it starts it")


def _warehouse(connection: Floodmark, settings: CommandSettings) -> Probe:
    from floodmark.storage.checks.verification import is_there
    from floodmark.storage.durability import objects_of

    parent = _nearest(connection.root)
    if parent != connection.root and not os.access(parent, os.W_OK):
        return Probe("warehouse", FAIL, f"{parent} cannot be written", _ELSEWHERE)
    if not is_there(connection.root, connection.store):
        if settings.pipelines_if_any is not None:
            makes = "the first `floodmark run` makes it"
            return Probe("warehouse", OK, f"there is none yet in {connection.root}: {makes}")
        return Probe("warehouse", WARN, f"there is none in {connection.root}",
                     "go to the folder of the project, or name one with --warehouse")  # fmt: skip
    try:
        # Whether the warehouse is durable is not asked: its record may be damaged.
        objects = objects_of(connection.warehouse.objects, durable=False)
        probe = f".doctor-{secrets.token_hex(8)}"
        objects.create(probe, b"")
        objects.delete([probe])
    except OSError as error:
        return Probe("warehouse", FAIL, f"{connection.root} cannot be written: {error.strerror}",
                     _ELSEWHERE)  # fmt: skip
    return Probe("warehouse", OK, f"{connection.root} can be written")


def _nearest(folder: Path) -> Path:
    """Return a folder, or the nearest of those around it that is there."""
    return next(f for f in (folder, *folder.parents) if f.exists())


def _disk(connection: Floodmark) -> Probe:
    free = shutil.disk_usage(_nearest(connection.root)).free
    if free >= connection.warehouse.limits.low_disk_bytes:
        return Probe("disk", OK, f"{size(free)} free")
    return Probe("disk", WARN, f"{size(free)} free",
                 "free some space: a full disk stops epochs; the next run goes on")  # fmt: skip


def _pipelines(connection: Floodmark, settings: CommandSettings) -> Probe:
    from floodmark.catalog.objects import Origin

    folder = settings.pipelines_if_any
    deployed = connection.deployed.catalog.objects.values()
    if folder is None and any(obj.origin is Origin.FILE for obj in deployed):
        folder = settings.pipelines  # what is deployed comes from there
    if folder is None:
        return Probe("pipelines", OK, f"there is no folder {settings.pipelines}")
    changes = connection.plan(folder).changes
    changed = [c.key for c in changes if c.action != "create"]
    if changed:
        return Probe("pipelines", WARN, f"differ from what is deployed: {', '.join(changed)}",
                     "look at `floodmark plan`, then `floodmark plan --apply`")  # fmt: skip
    if changes:
        return Probe("pipelines", OK, f"{len(changes)} new objects, created by the next run")
    return Probe("pipelines", OK, "are deployed")


def _sources(connection: Floodmark) -> Iterator[Probe]:
    failures = connection.warehouse.splits.failures(connection.deployed.pipeline)
    for name, error in failures.items():
        yield Probe("sources", FAIL, f"{name}: [{error.code}] {error.message}", error.hint or "")
    replaced = connection.warehouse.splits.find_replaced(connection.deployed.pipeline)
    for name, what in replaced.items():
        yield Probe("sources", WARN, f"{name}: {what}: what came since is not taken in",
                    "deliver new rows as files of other names")  # fmt: skip
    if not failures and not replaced:
        yield Probe("sources", OK, "all can be listed")


def _lease(connection: Floodmark) -> Probe:
    holder = connection.warehouse.lease.holder()
    if holder is None:
        return Probe("lease", OK, "free")
    who = f"process {holder.pid} on {holder.host} since {holder.since}, for {holder.purpose}"
    if holder.is_dead:
        return Probe("lease", OK, f"left by a process that ended; the next one takes it ({who})")
    return Probe("lease", WARN, f"held by {who}",
                 f"wait for it, or end it with `kill {holder.pid}`")  # fmt: skip


def _open_epoch(connection: Floodmark) -> Probe:
    head = connection.warehouse.log.head()
    if head.open is None:
        return Probe("epochs", OK, f"epoch {head.sealed} is sealed" if head.sealed else "none yet")
    text = f"epoch {head.open.epoch} is open since {cell(head.open.opened_at)}"
    remedy = "`floodmark run` finishes it, unless a run is at it now"
    if head.open.kind == "ddl":
        remedy += "; where that fails, `floodmark rollback` takes its definitions back"
    return Probe("epochs", WARN, text, remedy)


def _logs(connection: Floodmark) -> Iterator[Probe]:
    from floodmark.epochs.readiness import refuse_unready
    from floodmark.storage.checks.log_check import check_single_records
    from floodmark.storage.durability import is_durable

    for error in (looked.error for looked in check_single_records(connection.root)):
        if error is not None:
            yield Probe("logs", FAIL, f"[{error.code}] {error.message}", error.hint or "")
    refuse_unready(connection.warehouse)
    head = connection.warehouse.log.head()
    latest = connection.warehouse.catalogs.latest()
    version = 0 if latest is None else latest.version
    kind = "durable" if is_durable(connection.root) else "not durable: a power cut may lose epochs"
    text = f"epoch {head.sealed}, catalog version {version}; {kind}"
    yield Probe("logs", OK, text)


def _tables(connection: Floodmark) -> Iterator[Probe]:
    from floodmark.storage.checks.verification import check_heads

    findings = list(check_heads(connection.warehouse.log, connection.store))
    for finding in findings:
        code = f"[{finding.code}] " if finding.code else ""
        yield Probe("tables", FAIL, f"{code}{finding.message}", finding.remedy)
    if not findings:
        yield Probe("tables", OK, "end as the log says; `floodmark verify` reads all of them")


def _suspensions(connection: Floodmark) -> Iterator[Probe]:
    suspended = suspensions(connection)
    for what, remedy in suspended:
        yield Probe("suspended", FAIL, what, remedy)
    if not suspended:
        yield Probe("suspended", OK, "no object is suspended")


def _watermarks(connection: Floodmark) -> Iterator[Probe]:
    """Find watermarks that stood still over the last epochs in which their object took in rows."""
    log, most = connection.warehouse.log, connection.warehouse.limits.stalled_epochs
    last = log.head().sealed
    seen: dict[tuple[str, str], list[object]] = {}
    for epoch in range(max(1, last - 10 * most), last + 1):
        for key, record in log.seal_record(epoch).objects.items():
            for column, value in record.watermarks.items() if record.rows_in else ():
                seen.setdefault((key, column), []).append(value)
    still = False
    for (key, column), values in seen.items():
        newest = values[-most:]
        if len(newest) == most and len(set(map(str, newest))) == 1:
            still = True
            yield Probe(
                "watermarks", WARN,
                f"{key}.{column} stands at {cell(newest[0])} for {most} epochs with rows",
                "its rows are no newer: look at the times that come in; see docs/watermarks.md",
            )  # fmt: skip
    if not still:
        yield Probe("watermarks", OK, "none stands still")


def _fields(connection: Floodmark) -> Iterator[Probe]:
    """Find columns without a value, and fields that nothing takes, in what sources took in last."""
    from floodmark.epochs.summary import field_notes

    log, pipeline = connection.warehouse.log, connection.deployed.pipeline
    last, most = log.head().sealed, connection.warehouse.limits.stalled_epochs
    newest: dict[str, ObjectRecord] = {}
    for epoch in range(max(1, last - 10 * most), last + 1):
        records = log.seal_record(epoch).objects.items()
        newest.update({key: r for key, r in records if r.touched and r.rows_in})
    lines = field_notes(newest, pipeline)
    for line in lines:
        yield Probe("fields", WARN, line, "compare the definition with what is delivered")
    if not lines:
        yield Probe("fields", OK, "every column has values, every field is taken")


def _dead_letters(connection: Floodmark) -> Iterator[Probe]:
    from floodmark.session.inspect.dead_letters import describe_letters
    from floodmark.tables.layout import companion_base

    any_letters = False
    for each in connection.deployed.pipeline.writing_objects:
        said = describe_letters(connection.store, each, connection.warehouse.limits)
        if said is not None:
            any_letters = True
            read = f'SELECT * FROM "{companion_base(each)}__dead_letter"'
            yield Probe("dead letters", WARN, f"{each.key} has {said}", f"`floodmark sql '{read}'`")
    if not any_letters:
        yield Probe("dead letters", OK, "none")


def _show_limits(limits: list[Limit]) -> None:
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False, markup=False)
    for limit in limits:
        shared = ", in all warehouses" if limit.shared else ""
        console.print(f"{limit.name} = {limit.value:,} {limit.unit}{shared}", style="bold")
        console.print(f"    {limit.doc}")
    if limits:
        console.print()


def _show(checks: list[Probe]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    width = max(len(c.name) for c in checks)
    for check in checks:
        line = Text(f"{check.state:<4}", style=_STYLES[check.state])
        console.print(line.append(f"  {check.name:<{width}}  {check.message}", style="default"))
        if check.state != OK and check.remedy:
            console.print(Text(f"{'':<6}{'':<{width}}  {check.remedy}", style="dim"))
    wrong = sum(c.state != OK for c in checks)
    console.print(f"{os.linesep}{wrong} to look at" if wrong else f"{os.linesep}all is well")
