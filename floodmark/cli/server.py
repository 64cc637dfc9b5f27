"""`floodmark server`: the local Spark server that outlives commands."""

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
from floodmark.cli.rendering import duration, size
from floodmark.cli.session import report_errors

if TYPE_CHECKING:
    from floodmark.spark.remote import Remote

AllOption = Annotated[
    bool, typer.Option("--all", help="Also servers with other settings or versions.")
]

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
    """Print whether the server runs, its log, its memory, and its queries by client."""
    from floodmark.spark.confs import default_config
    from floodmark.spark.server import status as server_status

    with report_errors(CommandSettings(warehouse, pipelines, wait, as_json)):
        config = default_config()
        if config.remote is not None:
            _report_remote(config.remote, as_json)
            return
        server = server_status(config)
    if as_json:
        typer.echo(json.dumps({
            "running": server.running, "pid": server.pid, "url": server.url,
            "uptime_seconds": server.uptime_seconds, "resident_bytes": server.resident_bytes,
            "log": str(server.log), "others": server.others,
            "queries": [
                {"what": what, "pid": c.pid, "command": c.command, "alive": c.is_alive,
                 "seconds": round(time.time() - since, 1)}
                for c in server.clients for what, since in c.running.items()
            ],
        }))  # fmt: skip
        return
    if not server.running:
        typer.echo("the server does not run; the next command that needs Spark starts it")
    else:
        up = duration(server.uptime_seconds or 0.0)
        typer.echo(f"the server runs: process {server.pid}, {server.url}, for {up}, "
                   f"{size(server.resident_bytes or 0)} of memory")  # fmt: skip
    for client in server.clients:
        who = f"process {client.pid} ({client.command})"
        for what, since in client.running.items():
            gone = "" if client.is_alive else ", which is gone"
            typer.echo(f"  {what} for {duration(time.time() - since)}, asked by {who}{gone}")
    typer.echo(f"log: {server.log}")
    _warn_of_others(server.others)


@app.command()
def stop(
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
    all_servers: AllOption = False,
) -> None:
    """Stop the server; whoever is attached to it loses it. One that does not end is killed."""
    from floodmark.spark.confs import default_config
    from floodmark.spark.server import (
        homes,
        status as server_status,
        stop as stop_server,
        stop_home,
    )

    with report_errors(CommandSettings(warehouse, pipelines, wait, as_json)):
        config = default_config()
        if config.remote is not None:
            _report_remote(config.remote, as_json)
            return
        stopped = stop_server(config)
        more = [home for home in homes() if stop_home(home)] if all_servers else []
        others = server_status(config).others
    if as_json:
        typer.echo(json.dumps({"stopped": stopped, "more": len(more), "others": others}))
        return
    typer.echo("the server is stopped" if stopped else "the server did not run")
    if more:
        typer.echo(f"stopped, too: {len(more)} with other settings or versions")
    _warn_of_others(others)


def _warn_of_others(pids: tuple[int, ...]) -> None:
    if pids:
        named = ", ".join(map(str, pids))
        typer.echo(f"servers with other settings or versions run: process {named}; "
                   "`floodmark server stop --all` ends them")  # fmt: skip


def _report_remote(remote: Remote, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"remote": str(remote)}))
    else:
        typer.echo(f"the server is {remote}: Floodmark neither starts nor stops it")
