"""`floodmark status`: the state of every object."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

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
from floodmark.cli.rendering import cell, columns, duration, size
from floodmark.cli.run import lag, record_json
from floodmark.cli.session import command_connection
from floodmark.cli.timings import NEWEST, timings_json, timings_of, timings_table
from floodmark.errors import FloodmarkError

if TYPE_CHECKING:
    from floodmark.api import Floodmark
    from floodmark.session.inspect.sizes import TableSize
    from floodmark.storage.logs.epochs import ObjectRecord

HELP = """Show the state of every object, without Spark.

\b
  floodmark status
  floodmark status --timings         what objects cost in the last epochs
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status", help=HELP)(status)


def status(
    timings: Annotated[
        bool,
        typer.Option("--timings", help=f"What each object cost over the last {NEWEST} epochs."),
    ] = False,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    settings = CommandSettings(warehouse, pipelines, wait, as_json)
    with command_connection(settings) as connection:
        if settings.json:
            typer.echo(json.dumps(_json(connection, timings)))
            return
        typer.echo(headline(connection))
        if connection.deployed.pipeline.objects:
            typer.echo("")
            typer.echo(_timings(connection) if timings else objects_table(connection))


def headline(connection: Floodmark) -> str:
    """Return the lines above the table: the newest epoch, the open one, what is waiting."""
    log = connection.warehouse.log
    head = log.head()
    lines = [f"warehouse  {connection.root}"]
    if head.sealed:
        sealed = log.seal_record(head.sealed)
        ago = duration(max(datetime.now(UTC) - sealed.sealed_at, timedelta()))
        lines.append(f"epoch      {head.sealed}, sealed {ago} ago")
    else:
        lines.append("epoch      none yet: `floodmark plan` shows what the pipeline files define")
    if head.open is not None:
        lines.append(f"open       epoch {head.open.epoch}: the next run finishes it")
    if head.sealed:
        lines.append(f"input      {_input(connection)}")
    return "\n".join(lines)


def _input(connection: Floodmark) -> str:
    """Return whether something waits; a source that cannot say it hides nothing else."""
    try:
        return "there is more" if connection.has_new() else "nothing new"
    except FloodmarkError as error:
        return f"cannot tell\n{error.render()}\n"


def objects_table(connection: Floodmark) -> str:
    """Return a line per object: kind, state, rows and bytes at rest, watermark and lag.

    Where there is such, also when it changes by itself, and which share of its rows it stores.
    """
    from floodmark.session.inspect.reporting import intakes
    from floodmark.session.inspect.sizes import total

    records = connection.status()
    objects = connection.deployed.pipeline.objects
    now = datetime.now(UTC)
    taken = intakes(connection.warehouse)
    more = ["next due"] if any(record.due for record in records.values()) else []
    more += ["stored of received"] if taken else []
    rows = []
    for key, obj in objects.items():
        record = records.get(key)
        due = None if record is None else record.due
        note = {"next due": "" if due is None else cell(due),
                "stored of received": str(taken.get(key, ""))}  # fmt: skip
        sizes, word = _measure(connection, key, record)
        rows_at_rest, bytes_at_rest = total(sizes, state=False)
        state_rows, state_bytes = total(sizes, state=True)
        mark = record.watermark if record is not None else None
        rows.append([
            obj.name, obj.kind.value, word,
            str(obj.relation.mode), _count(rows_at_rest), _size(bytes_at_rest),
            _count(state_rows), _size(state_bytes),
            "" if mark is None else cell(mark),
            lag(record, now) if record is not None else "",
            *(note[name] for name in more),
        ])  # fmt: skip
    numbers = ["rows", "size", "state rows", "state size"]
    headers = ["object", "kind", "state", "mode", *numbers, "watermark", "lag", *more]
    return columns(headers, rows, right=numbers)


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _size(number: int | None) -> str:
    return "" if number is None else size(number)


def _measure(
    connection: Floodmark, key: str, record: ObjectRecord | None
) -> tuple[tuple[TableSize, ...], str]:
    """Return an object's tables and the word for its state: no tables where one is unreadable."""
    word = state(connection, key, record)
    try:
        return connection.sizes(key), word
    except FloodmarkError as error:
        return (), word if word.startswith("suspended") else f"unreadable ({error.code})"


def state(connection: Floodmark, key: str, record: ObjectRecord | None) -> str:
    """Return the word for an object's state."""
    from floodmark.epochs.backfill.progress import words

    suspended = connection.warehouse.suspensions().get(key)
    if suspended is not None:
        return f"suspended ({suspended.code})"
    if connection.deployed.find_function_changes(key):
        return "needs REBASE (E0377)"
    if record is not None and record.backfilling:
        return words(connection.warehouse, record)
    sealed = connection.warehouse.log.head().sealed
    if record is not None and record.position < sealed:
        return f"waits at epoch {record.position}"
    return "active"


def _timings(connection: Floodmark) -> str:
    return timings_table(timings_of(connection.warehouse.log))


def _json(connection: Floodmark, timings: bool) -> dict[str, Any]:
    from floodmark.session.inspect.reporting import intakes
    from floodmark.session.inspect.sizes import total

    taken = intakes(connection.warehouse)
    head = connection.warehouse.log.head()
    records = connection.status()
    objects = []
    for key, obj in connection.deployed.pipeline.objects.items():
        record = records.get(key)
        sizes, word = _measure(connection, key, record)
        (rows, bytes_), (state_rows, state_bytes) = (total(sizes, state=s) for s in (False, True))
        objects.append({
            "object": obj.name,
            "kind": obj.kind.value,
            "state": word,
            "mode": str(obj.relation.mode),
            "rows": rows,
            "bytes": bytes_,
            "state_rows": state_rows,
            "state_bytes": state_bytes,
            "tables": [t.as_dict() for t in sizes],
            **({} if key not in taken else {"received": taken[key].received,
                                            "stored": taken[key].stored}),
            **({} if record is None else {"last": record_json(record)}),
        })  # fmt: skip
    out: dict[str, Any] = {
        "warehouse": str(connection.root),
        "sealed": head.sealed,
        "open": head.open and head.open.epoch,
        "objects": objects,
    }
    try:
        out["has_new"] = connection.has_new()
    except FloodmarkError as error:
        out |= {"has_new": None, "input": error.as_dict()}
    if timings:
        out["timings"] = timings_json(timings_of(connection.warehouse.log))
    return out
