"""`floodmark server`: the local Spark server that outlives commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from floodmark.cli.options import (
    PIPELINES,
    WAIT,
    WAREHOUSE,
    JsonOption,
    PipelinesOption,
    Settings,
    WaitOption,
    WarehouseOption,
)
from floodmark.cli.rendering import duration, size
from floodmark.cli.session import reported

if TYPE_CHECKING:
    from floodmark.spark.remote import Remote

app = typer.Typer(
    help="Show or stop the local Spark server; commands start it when they need it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def status(
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    """Tell whether the server runs, where its log is and what it takes."""
    from floodmark.spark.confs import default_config
    from floodmark.spark.server import status as server_status

    with reported(Settings(warehouse, pipelines, wait, as_json)):
        config = default_config()
        if config.remote is not None:
            _of_others(config.remote, as_json)
            return
        found = server_status(config)
    if as_json:
        typer.echo(json.dumps({
            "running": found.running, "pid": found.pid, "url": found.url,
            "uptime_seconds": found.uptime_seconds, "resident_bytes": found.resident_bytes,
            "log": str(found.log),
        }))  # fmt: skip
        return
    if not found.running:
        typer.echo("the server does not run; the next command that needs Spark starts it")
    else:
        up = duration(found.uptime_seconds or 0.0)
        typer.echo(f"the server runs: process {found.pid}, {found.url}, for {up}, "
                   f"{size(found.resident_bytes or 0)} of memory")  # fmt: skip
    typer.echo(f"log: {found.log}")


@app.command()
def stop(
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    """Stop the server; whoever is attached to it loses it."""
    from floodmark.spark.confs import default_config
    from floodmark.spark.server import stop as stop_server

    with reported(Settings(warehouse, pipelines, wait, as_json)):
        config = default_config()
        if config.remote is not None:
            _of_others(config.remote, as_json)
            return
        stopped = stop_server(config)
    if as_json:
        typer.echo(json.dumps({"stopped": stopped}))
    else:
        typer.echo("the server is stopped" if stopped else "the server did not run")


def _of_others(remote: Remote, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"remote": str(remote)}))
    else:
        typer.echo(f"the server is {remote}: Floodmark neither starts nor stops it")
