"""`floodmark rollback`: rolls back definitions that are logged but cannot be applied."""

from __future__ import annotations

import json

import typer

from floodmark.cli.options import (
    WAIT,
    WAREHOUSE,
    CommandSettings,
    JsonOption,
    WaitOption,
    WarehouseOption,
)
from floodmark.cli.run import summary_json
from floodmark.cli.session import command_connection

HELP = """Roll back a change of the definitions that is logged but not applied yet.

\b
  floodmark rollback

A change is first logged, and then applied by an epoch. If that epoch cannot be finished, for
example because a table is damaged, this seals it with the previous definitions. Rows are not
changed. An epoch that has already written or emptied tables cannot be rolled back (E0438). Correct
the pipeline files before the next run, which would otherwise make the same change again.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rollback", help=HELP)(rollback)


def rollback(
    warehouse: WarehouseOption = WAREHOUSE, wait: WaitOption = WAIT, as_json: JsonOption = False
) -> None:
    settings = CommandSettings(warehouse, wait=wait, json=as_json)
    with command_connection(settings) as connection:
        note = connection.loop.roll_back()
    if as_json:
        typer.echo(json.dumps({"epochs": 0} if note is None else summary_json(note)))
    elif note is None:
        typer.echo("nothing to take back: the newest definitions are in force")
    else:
        typer.echo("\n".join([f"epoch {note.epoch} sealed", *note.notices]))
