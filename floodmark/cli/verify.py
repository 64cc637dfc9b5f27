"""`floodmark verify`: whether the tables at rest are what the log says."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from floodmark.cli.options import WAIT, WAREHOUSE, JsonOption, Settings, WarehouseOption
from floodmark.cli.session import connected

if TYPE_CHECKING:
    from floodmark.storage.verification import Finding, Progress

HELP = """Compare the tables at rest with the log: commits, file lists, footers, row counts.

\b
  floodmark verify
  floodmark verify orders order_totals

Without names, all objects and the logs are looked at. Nothing is changed, and Spark is not needed.
Exit code 1 when something is wrong.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify", help=HELP)(verify)


def verify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Objects to look at.")
    ] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    as_json: JsonOption = False,
) -> None:
    settings = Settings(warehouse, wait=WAIT, json=as_json)
    with connected(settings) as connection, _progress(as_json) as progress:
        findings = list(connection.verify(names or None, progress))
    if as_json:
        typer.echo(json.dumps([asdict(f) for f in findings]))
    else:
        _show(findings)
    raise typer.Exit(1 if findings else 0)


def _show(findings: Collection[Finding]) -> None:
    for finding in findings:
        code = f"[{finding.code}] " if finding.code else ""
        typer.echo(f"{code}{finding.message}\n      {finding.remedy}")
    typer.echo(f"{len(findings)} to look at" if findings else "all tables are as the log says")


@contextmanager
def _progress(as_json: bool) -> Iterator[Progress | None]:
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        yield None
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task("verifying")
        yield lambda table, done, total: bar.update(
            task, completed=done, total=total, description=table
        )
