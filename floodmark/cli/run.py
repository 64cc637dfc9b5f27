"""`floodmark run`: runs epochs until the sources have nothing new."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from floodmark.cli.options import (
    PIPELINES,
    WAIT,
    WAREHOUSE,
    CommandSettings,
    DurableOption,
    JsonOption,
    PipelinesOption,
    WaitOption,
    WarehouseOption,
)
from floodmark.cli.rendering import cell, duration
from floodmark.cli.session import command_connection, suspension_code

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from floodmark.api import Floodmark
    from floodmark.epochs.summary import EpochSummary
    from floodmark.storage.logs.epochs import ObjectRecord

HELP = """Take in what the sources have, epoch by epoch, and print what each object did.

\b
  floodmark run                      until nothing is new
  floodmark run --epochs 1           one epoch
  floodmark run --follow             continue as data comes
  floodmark run --select a,b         only these objects; the epoch stays open for the others
  floodmark run --now 2013-02-01T00  with this time for the epochs
  floodmark run --json | jq .        one line of JSON per epoch, or {"epochs": 0, …}

A file that was changed after it was read is reported: only new files are taken in.
New objects of the pipeline files are created first. Ctrl-C leaves an epoch that the next run
finishes.
"""

_LOOKED_AT = 20
"""Epochs, and files of a source, that are compared with what they were: a file grows at the end."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", help=HELP)(run)


def run(
    epochs: Annotated[int | None, typer.Option(min=1, help="Stop after this many epochs.")] = None,
    follow: Annotated[
        bool,
        typer.Option("--follow/--until-caught-up", help="Wait for more, or stop, when caught up."),
    ] = False,
    now: Annotated[str | None, typer.Option(help="The time of the epochs, ISO 8601, UTC.")] = None,
    select: Annotated[
        str | None, typer.Option(help="Advance only these objects, names with commas.")
    ] = None,
    accept_clock: Annotated[
        bool,
        typer.Option("--accept-clock", help="Accept the machine's clock after a jump (E0880)."),
    ] = False,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
    durable: DurableOption = None,
) -> None:
    from floodmark.epochs.readiness import refuse_unready
    from floodmark.epochs.summary import format_notes

    settings = CommandSettings(warehouse, pipelines, wait, as_json, durable)
    moment, chosen = _moment(now), _names(select)
    with command_connection(settings) as connection:
        refuse_unready(connection.warehouse)
        connection.warehouse.guard.accepts = accept_clock
        folder = settings.pipelines_if_any
        if folder is not None:
            with _standing(connection, moment):
                plan = connection.deploy(folder)
            if plan.changes:
                epoch = connection.warehouse.log.head().sealed
                _say(settings, f"epoch {epoch} created {len(plan.changes)} objects")
                for line in format_notes(plan.new_keys, plan.pipeline):
                    _say(settings, line)
            _say_drift(connection, settings)
        if follow:
            _follow(connection, settings, epochs, moment)
        else:
            done = advance(connection, settings, epochs, moment, chosen)
            if not done:
                _say_nothing(connection, settings)
            _say_replaced(connection, settings)
        code = suspension_code(connection)
    raise typer.Exit(code)


@dataclass(frozen=True)
class _FixedClock:
    """A clock that says one time."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment


@contextmanager
def _standing(connection: Floodmark, moment: datetime | None) -> Iterator[None]:
    """Let the epoch that creates objects have the time of those after it: none goes back."""
    clock = connection.warehouse.clock
    if moment is not None:
        connection.warehouse.clock = _FixedClock(moment)
    try:
        yield
    finally:
        connection.warehouse.clock = clock


def _say_drift(connection: Floodmark, settings: CommandSettings) -> None:
    """Name the objects whose files still have the definition from before an ALTER."""
    from floodmark.session.ddl.file_objects import drift

    for found in drift(connection.deployed.catalog):
        _say(settings, f"{found}")


def _say_nothing(connection: Floodmark, settings: CommandSettings) -> None:
    from floodmark.session.ddl.desired import no_pipelines

    sealed = connection.warehouse.log.head().sealed
    if not sealed and settings.pipelines_if_any is None:
        raise no_pipelines(settings.pipelines)
    if settings.json:
        typer.echo(json.dumps({"epochs": 0, "sealed": sealed}))
    elif sealed:
        typer.echo(f"nothing new: epoch {sealed} is sealed")
    else:
        typer.echo(
            f"nothing to run: {settings.pipelines} and {settings.warehouse} define no object"
        )


def _say_replaced(connection: Floodmark, settings: CommandSettings) -> None:
    """Say which of the last files have changed since they were read: what came is nobody's."""
    replaced = connection.warehouse.splits.find_replaced(
        connection.deployed.pipeline, splits=_LOOKED_AT
    )
    for name, what in replaced.items():
        note = f"{name}: {what}: what came since is not taken in; deliver it as files of new names"
        typer.echo(json.dumps({"note": note}) if settings.json else note)


def _follow(
    connection: Floodmark, settings: CommandSettings, epochs: int | None, now: datetime | None
) -> None:
    from floodmark.cli.follow import Follower

    def turn(left: int | None) -> int:
        return advance(connection, settings, left, now)

    _say(settings, "following; Ctrl-C ends it")
    Follower(connection, turn).follow(epochs)


def advance(
    connection: Floodmark,
    settings: CommandSettings,
    epochs: int | None = None,
    now: datetime | None = None,
    select: Sequence[str] | None = None,
) -> int:
    """Run epochs until nothing is new, print them, and return how many there were."""
    if not connection.has_new(select, now):
        return 0
    started = time.monotonic()
    done = rows = 0
    with _display(settings, epochs) as display:
        for summary in connection.epochs(epochs, now, display.show, select, display.show_restart):
            done += 1
            rows += _count_input(connection, summary)
            display.show_epoch(summary)
    took = duration(time.monotonic() - started)
    if done:
        _say(settings, f"{done} epoch{'s' if done > 1 else ''}, {rows:,} rows in, {took}")
    return done


def _count_input(connection: Floodmark, summary: EpochSummary) -> int:
    """Return how many rows sources and statements brought; what views read of them is no more."""
    if not summary.changes:
        return 0
    opened = connection.warehouse.log.open_record(summary.epoch)
    entries = {*opened.splits, *(entry["table"] for entry in opened.dml)}
    return sum(r.rows_in for r in summary.changes if r.object in entries)


class Display:
    """Prints objects and epochs; with a bar that moves where somebody watches."""

    def __init__(
        self, settings: CommandSettings, console: Console, progress: Progress | None
    ) -> None:
        self._json = settings.json
        self._console = console
        self._progress = progress
        self._tasks = progress.task_ids if progress is not None else []
        self._width = 20

    def show(self, epoch: int, record: ObjectRecord) -> None:
        """Print what an epoch did to an object."""
        if self._json:
            return
        self._width = max(self._width, len(record.object))
        self._console.out(object_line(epoch, record, self._width), highlight=False)
        for task in self._tasks:
            assert self._progress is not None
            self._progress.update(task, description=f"epoch {epoch}  {record.object}")

    def show_restart(self, epoch: int) -> None:
        """Print that the server was lost within an epoch."""
        note = f"the Spark server was gone: epoch {epoch} is resumed in new sessions"
        if self._json:
            typer.echo(json.dumps({"note": note}))
        else:
            self._console.out(note, highlight=False)

    def show_epoch(self, summary: EpochSummary) -> None:
        """Print that an epoch is done."""
        if self._json:
            typer.echo(json.dumps(summary_json(summary)))
            return
        for line in summary.notices:
            self._console.print(line, highlight=False, markup=False)
        if not summary.sealed:
            return
        took = duration(summary.duration_s)
        text = f"epoch {summary.epoch} sealed  {len(summary.changes)} objects  {took}"
        self._console.print(text, style="dim", highlight=False)
        for task in self._tasks:
            assert self._progress is not None
            self._progress.advance(task)


@contextmanager
def _display(settings: CommandSettings, epochs: int | None) -> Iterator[Display]:
    from rich.console import Console

    console = Console(soft_wrap=True)
    if settings.json or not console.is_terminal:
        yield Display(settings, console, None)
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    parts = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*parts, console=console, transient=True) as progress:
        progress.add_task("", total=epochs)
        yield Display(settings, console, progress)


def object_line(epoch: int, record: ObjectRecord, width: int = 20) -> str:
    """Return the line of an object in an epoch."""
    parts = [
        f"epoch {epoch}  {record.object:<{width}}",
        f"in {record.rows_in:<8,}",
        f"out {record.rows_out:<8,}",
        f"late {record.late_rows:<5,}",
        f"dead {record.dead_rows:<4,}",
        *([f"ignored {record.ignored_rows:,}"] if record.ignored_rows else []),
        *([f"expired {record.expired_rows:,}"] if record.expired_rows else []),
        *([f"left out {record.dropped_rows:,}"] if record.dropped_rows else []),
        *([f"by time {record.timed_rows:,}"] if record.timed_rows else []),
        f"{record.duration_s:>6.2f} s",
    ]
    if record.before_differs:
        parts.append(f"{record.before_differs:,} unlike their before")
    mark = record.watermark
    if mark is not None:
        parts.append(f"watermark {cell(mark)}")
        parts.append(f"lag {lag(record, datetime.now(UTC))}")
    return "  ".join(parts)


def lag(record: ObjectRecord, now: datetime) -> str:
    """Return how far an object's watermark is behind a time; empty without a watermark in time."""
    behind = record.lag(now)
    return "" if behind is None else duration(behind)


def summary_json(summary: EpochSummary) -> dict[str, Any]:
    """Return an epoch for JSON: a record per object that it touched."""
    return {
        "epoch": summary.epoch,
        "now": summary.now.isoformat(),
        "duration_s": summary.duration_s,
        "objects": [record_json(r) for r in summary.changes],
        "suspended": dict(summary.suspended),
        "sealed": summary.sealed,
        "waiting_for": list(summary.waiting_for),
        "held_back": {key: list(upstream) for key, upstream in summary.held_back.items()},
        "notes": list(summary.notes),
    }


def record_json(record: ObjectRecord) -> dict[str, Any]:
    """Return an object's record for JSON."""
    return {
        "object": record.object,
        "rows_in": record.rows_in,
        "rows_out": record.rows_out,
        "late_rows": record.late_rows,
        "dead_rows": record.dead_rows,
        "ignored_rows": record.ignored_rows,
        "expired_rows": record.expired_rows,
        "before_differs": record.before_differs,
        "dropped_rows": record.dropped_rows,
        "timed_rows": record.timed_rows,
        "lacking": list(record.lacking),
        "unused": list(record.unused),
        "due": record.due and record.due.isoformat(),
        "watermarks": {k: v and cell(v) for k, v in record.watermarks.items()},
        "duration_s": record.duration_s,
        "position": record.position,
    }


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a time such as 2013-02-01T00:00:00") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _say(settings: CommandSettings, text: str) -> None:
    if not settings.json:
        typer.echo(text)
