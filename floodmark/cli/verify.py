"""`floodmark verify`: compares the stored tables with the log."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from floodmark.cli.options import WAIT, WAREHOUSE, CommandSettings, JsonOption, WarehouseOption
from floodmark.cli.progress import progress
from floodmark.cli.session import command_connection

if TYPE_CHECKING:
    from floodmark.storage.checks.verification import TableFinding

HELP = """Compare the stored tables with the log: commits, file lists, footers, row counts.
Each row that an epoch took in must be stored or accounted for exactly once.

\b
  floodmark verify
  floodmark verify orders order_totals

Without names, all objects and the logs are checked. Nothing is changed, and Spark is not needed.
Exit code 1 when something is wrong.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify", help=HELP)(verify)


def verify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Objects to check.")
    ] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    as_json: JsonOption = False,
) -> None:
    settings = CommandSettings(warehouse, wait=WAIT, json=as_json)
    with command_connection(settings) as connection, progress("verifying", as_json) as note:
        findings = list(connection.verify(names or None, note))
    if as_json:
        typer.echo(json.dumps([asdict(f) for f in findings]))
    else:
        _show(findings)
    raise typer.Exit(1 if findings else 0)


def _show(findings: Collection[TableFinding]) -> None:
    for finding in findings:
        code = f"[{finding.code}] " if finding.code else ""
        below = [*(finding.detail or "").splitlines(), finding.remedy]
        typer.echo("\n      ".join([f"{code}{finding.message}", *below]))
    typer.echo(f"{len(findings)} to look at" if findings else "all tables are as the log says")
