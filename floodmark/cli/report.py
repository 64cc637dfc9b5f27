"""`floodmark report`: one HTML page about the warehouse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

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
from floodmark.cli.session import command_connection

HELP = """Write one self-contained HTML page: the graph of the objects, their SQL and plans, plots
of rows, late rows, time and watermarks, and the epoch log as a searchable table.

\b
  floodmark report
  floodmark report --out build/report.html --samples

Needs no Spark unless --samples is given. The page needs no network.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", help=HELP)(report)


def report(
    out: Annotated[Path, typer.Option("--out", "-o", help="The file.")] = Path("report.html"),
    samples: Annotated[
        bool, typer.Option("--samples", help="Show some rows of each object (needs Spark).")
    ] = False,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    from floodmark.report.page import write_report

    settings = CommandSettings(warehouse, pipelines, wait, as_json)
    with command_connection(settings) as connection:
        write_report(connection, out, samples=samples)
    typer.echo(json.dumps({"report": str(out)}) if as_json else f"{out} is written")
