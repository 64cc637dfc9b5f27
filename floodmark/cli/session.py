"""The environment of every command: a connection, error texts and exit codes, signals."""

from __future__ import annotations

import json
import shlex
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

import typer

from floodmark.cli.options import CommandSettings
from floodmark.errors import FloodmarkError, OutOfReach, TransientError

if TYPE_CHECKING:
    from floodmark.api import Floodmark

WRONG = 1
SUSPENDED = 2
TRANSIENT = 3
INTERRUPTED = 128
_INTERRUPT_EVERY_SECONDS = 0.5
_ANSWER_SECONDS = 5.0
_WRONG_PATH = (NotADirectoryError, IsADirectoryError, FileNotFoundError, PermissionError)


@contextmanager
def command_connection(settings: CommandSettings, *, checked: bool = True) -> Iterator[Floodmark]:
    """Yield a connection; errors become their text and an exit code, signals end the command."""
    with open_connection(settings, checked=checked) as connection, interruptible(connection):
        yield connection


@contextmanager
def open_connection(settings: CommandSettings, *, checked: bool = True) -> Iterator[Floodmark]:
    """Yield a connection; Floodmark's errors become their text and an exit code.

    Unless it is `checked`, the warehouse may be one of a newer version.
    """
    from floodmark.storage.local_files import disk_errors

    # pyspark tells of a lost server in a warning first; the error that follows says it better.
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    # Closed whatever happens: an open client waits for its server when the process ends.
    with (
        report_errors(settings),
        disk_errors("what the command writes"),
        _connect(settings) if checked else _connect_unchecked(settings) as connection,
    ):
        yield connection


def _connect(settings: CommandSettings) -> Floodmark:
    from floodmark.api import connect
    from floodmark.catalog.places import find_project

    return connect(
        settings.warehouse,
        wait=settings.wait,
        project=find_project(settings.pipelines),
        durable=settings.durable,
    )


def _connect_unchecked(settings: CommandSettings) -> Floodmark:
    """Connect without a look at the version of the warehouse; `connect` refuses a newer one."""
    from floodmark.api import Floodmark
    from floodmark.catalog.places import find_project
    from floodmark.storage.warehouse import local_root
    from floodmark.tables.clock import SystemClock

    connection = Floodmark(local_root(settings.warehouse), SystemClock(), settings.wait)
    project = find_project(settings.pipelines)
    connection.warehouse.home = project and project.absolute()
    return connection


@contextmanager
def report_errors(settings: CommandSettings) -> Iterator[None]:
    """Turn an error of the block, or of the disk, into its text on stderr and an exit code."""
    try:
        yield
    except FloodmarkError as error:
        text = json.dumps({"error": error.as_dict()}) if settings.json else error.render()
        typer.echo(text, err=True)
        passing = isinstance(error, TransientError | OutOfReach)
        raise typer.Exit(TRANSIENT if passing else WRONG) from None
    except OSError as error:
        if error.filename is None or isinstance(error, BrokenPipeError):
            raise
        message = f"{error.filename}: {error.strerror}"
        said = json.dumps({"error": {"message": message}}) if settings.json else f"error: {message}"
        typer.echo(said, err=True)
        raise typer.Exit(WRONG if isinstance(error, _WRONG_PATH) else TRANSIENT) from None


@contextmanager
def interruptible(connection: Floodmark) -> Iterator[None]:
    """Let SIGINT and SIGTERM end the queries on the server, and say what stays behind.

    Queries of other threads would go on: the executor that runs objects waits for them. A second
    signal ends the process at once.
    """
    received: list[int] = []
    done = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        _restore(before)
        threading.Thread(target=_keep_interrupting, args=(connection, done), daemon=True).start()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except BaseException:
        if not received:
            raise
        done.set()
        _say_interrupted(connection)
        raise typer.Exit(INTERRUPTED + received[0]) from None
    finally:
        done.set()
        _restore(before)


@contextmanager
def cancellable(connection: Floodmark) -> Iterator[None]:
    """Let SIGINT end the block and its queries on the server, as a KeyboardInterrupt.

    Once it is left, no interrupt is under way any more: it would end the next statement. A server
    that does not answer is waited for a few seconds.
    """
    done = threading.Event()
    interrupts: list[threading.Thread] = []

    def stop(number: int, frame: FrameType | None) -> None:
        thread = threading.Thread(target=_keep_interrupting, args=(connection, done), daemon=True)
        thread.start()
        interrupts.append(thread)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        done.set()
        signal.signal(signal.SIGINT, before)
        for thread in interrupts:
            thread.join(_ANSWER_SECONDS)


def suspension_code(connection: Floodmark) -> int:
    """Say which objects are suspended, on stderr, and return the exit code for it."""
    suspended = suspensions(connection)
    for what, remedy in suspended:
        typer.echo(f"suspended  {what}", err=True)
        typer.echo(f"help: {remedy}", err=True)
    return SUSPENDED if suspended else 0


def suspensions(connection: Floodmark) -> list[tuple[str, str]]:
    """Return, for each suspended object, what happened to it and what to do."""
    from floodmark.warehouse.suspensions import remedy

    def sql_command(command: str) -> str:
        return f"`floodmark sql {shlex.quote(command)}`"

    objects = connection.deployed.pipeline.objects
    return [
        (
            f"{key} since epoch {event.epoch}: {event.message}",
            remedy(objects[key], event, sql_command),
        )
        for key, event in connection.warehouse.suspensions().items()
        if key in objects
    ]


def _keep_interrupting(connection: Floodmark, done: threading.Event) -> None:
    """Interrupt again and again: a thread between two queries starts its next one."""
    while not done.is_set():
        with suppress(Exception):
            connection.interrupt()
        done.wait(_INTERRUPT_EVERY_SECONDS)


def _restore(handlers: dict[signal.Signals, signal._HANDLER]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _say_interrupted(connection: Floodmark) -> None:
    open_ = connection.warehouse.log.head().open
    left = (
        "no epoch is open"
        if open_ is None
        else f"epoch {open_.epoch} stays open; the next run finishes it with the same input"
    )
    typer.echo(f"interrupted: {left}", err=True)
