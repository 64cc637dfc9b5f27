"""The application: all commands and the options that they share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from floodmark.cli import (
    backfill,
    backup,
    demo,
    diff,
    doctor,
    explain,
    lint,
    plan,
    replay,
    report,
    rollback,
    run,
    server,
    sql,
    status,
    verify,
    watch,
)
from floodmark.cli.options import AsJson, Durable, Pipelines, Wait, WarehouseFlag

HELP = """Streaming-database semantics on a lakehouse: SQL files in, Delta tables out.

Exit codes: 0 success; 1 the command or its SQL was wrong and nothing ran, or an object could not be
replayed; 2 it ran, but an object is suspended, or a replay or diff differs; 3 a resource was not
available (lease held, disk full, server gone, source unreachable): try again; 130 interrupted.
"""

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for module in (
    demo, plan, run, sql, explain, status, watch, doctor, replay, report, backfill, lint, diff,
    backup, verify, rollback,
):  # fmt: skip
    module.register(app)
app.add_typer(server.app, name="server")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"floodmark {version('floodmark')}")
        raise typer.Exit


@app.callback()
def configure(
    context: typer.Context,
    warehouse: Annotated[Path, WarehouseFlag(envvar="FLOODMARK_WAREHOUSE")] = Path("warehouse"),
    pipelines: Annotated[Path, Pipelines(envvar="FLOODMARK_PIPELINES")] = Path("pipelines"),
    wait: Annotated[float, Wait()] = 60.0,
    as_json: Annotated[bool, AsJson()] = False,
    durable: Annotated[bool | None, Durable()] = None,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Store the shared options given before the command; those after it override them."""
    values: dict[str, Any] = {
        "warehouse": str(warehouse), "pipelines": str(pipelines), "wait": wait, "as_json": as_json,
        "durable": durable,
    }  # fmt: skip
    commands = (
        "demo", "plan", "run", "sql", "explain", "status", "watch", "doctor", "replay", "report",
        "backfill", "lint", "diff", "backup", "restore", "verify", "rollback",
    )  # fmt: skip
    context.default_map = {
        **dict.fromkeys(commands, values),
        "server": {"status": values, "stop": values},
    }


def invoke(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        code = app(args=list(arguments), prog_name="floodmark", standalone_mode=False)
    except TyperException as error:
        _say_usage(error)
        return 1
    except typer.Abort:
        return 1
    return code if isinstance(code, int) else 0


def _say_usage(error: TyperException) -> None:
    context = getattr(error, "ctx", None)
    if type(error).__name__.startswith("NoArgsIsHelp"):
        typer.echo(error.format_message(), err=True)
        return
    typer.echo(f"error: {error.format_message()}", err=True)
    if context is not None:
        typer.echo(f"help: {context.command_path} --help", err=True)
