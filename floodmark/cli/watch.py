"""`floodmark watch`: shows the changes of an object as epochs are sealed."""

from __future__ import annotations

import json
import time
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
from floodmark.cli.rendering import cell, json_value, table
from floodmark.cli.session import INTERRUPTED, open_connection

if TYPE_CHECKING:
    from floodmark.api import Floodmark
    from floodmark.session.inspect.watch import EpochChanges

POLL_SECONDS = 0.5
_SIGINT = 2
HELP = """Show what changes in an object as epochs seal: +I, -U, +U, -D and the row.

\b
  floodmark watch route_delays                    from the next epoch on
  floodmark watch route_delays --from-epoch 5     including the changes from epoch 5 on
  floodmark watch route_delays --epochs 1         end after one epoch
  floodmark watch route_delays --json | jq .      one line of JSON per change

Another process runs the epochs: `floodmark run --follow` or Dagster. An object that was suspended
shows the missed epochs after it has caught up. Ctrl-C ends it. Needs no Spark.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("watch", help=HELP)(watch)


def watch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A source, table or view.")],
    from_epoch: Annotated[
        int | None, typer.Option("--from-epoch", min=1, help="Begin with this epoch.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="End after this many sealed epochs.")
    ] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    settings = CommandSettings(warehouse, pipelines, wait, as_json)
    with open_connection(settings) as connection:
        try:
            _follow(connection, name, from_epoch, epochs, as_json=settings.json)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED + _SIGINT) from None


def _follow(
    connection: Floodmark, name: str, first: int | None, epochs: int | None, *, as_json: bool
) -> None:
    """Print changes until so many epochs are sealed; forever without a number."""
    from floodmark.session.inspect.watch import (
        changes_after,
        check_retention,
        find_watchable,
        position,
    )

    warehouse = connection.warehouse
    obj = find_watchable(name, warehouse)
    after = position(obj, warehouse) if first is None else first - 1
    check_retention(obj, after, warehouse)
    seen, last = None, None if epochs is None else epochs + after
    if last is None:
        typer.echo(f"watching {obj.name} from epoch {after + 1} on; Ctrl-C ends it", err=True)
    while True:
        sealed = warehouse.log.head().sealed
        if sealed != seen:
            obj = find_watchable(name, warehouse)
            reached = position(obj, warehouse)
            until = reached if last is None else min(reached, last)
            for some in changes_after(obj, after, until, warehouse):
                typer.echo(_lines(some) if as_json else _table(some))
            after, seen = max(after, until), sealed
        if last is not None and sealed >= last:
            return
        time.sleep(POLL_SECONDS)


def _lines(some: EpochChanges) -> str:
    """Return a line of JSON per change."""
    return "\n".join(
        json.dumps({
            "epoch": some.epoch,
            "now": cell(some.now),
            "kind": kind,
            "row": {
                f.name: json_value(v, str(f.type))
                for f, v in zip(some.columns, row, strict=True)
            },
        })
        for kind, row in some.changes
    )  # fmt: skip


def _table(some: EpochChanges) -> str:
    """Return the changes as psql shows rows, under the epoch and its time."""
    names = [" ", *(f.name for f in some.columns)]
    types = ["", *(str(f.type) for f in some.columns)]
    rows = [(kind, *row) for kind, row in some.changes]
    head = f"epoch {some.epoch}, {cell(some.now)}"
    return f"{head}\n{table(names, types, rows, count=False)}\n"
