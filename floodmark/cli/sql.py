"""`floodmark sql`: statements from the command line, a file, a pipe or a prompt."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from floodmark.cli.options import (
    PIPELINES,
    WAIT,
    WAREHOUSE,
    CommandSettings,
    DurableOption,
    JsonOption,
    PipelinesOption,
    WaitOption,
    WarehouseOption,
)
from floodmark.cli.rendering import json_value, table
from floodmark.cli.session import command_connection, open_connection, suspension_code

if TYPE_CHECKING:
    from floodmark.api import Floodmark, Result

HELP = """Run SQL: queries, CREATE and DROP, INSERT, UPDATE, DELETE, SHOW, EXPLAIN.

\b
  floodmark sql "SELECT * FROM orders LIMIT 5"
  floodmark sql -f changes.sql       a file, statement by statement
  floodmark sql < changes.sql        the same from a pipe, or with -f -
  floodmark sql                      a prompt; \\? lists its commands
  floodmark sql --json "SHOW TABLES" one line of JSON per statement

Queries read the last sealed epoch. A statement that fails ends the script; earlier ones stay in
effect. BEGIN … COMMIT makes one epoch of several statements: all take effect, or none.
"""

_WRITING = ("INSERT", "UPDATE", "DELETE")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sql", help=HELP)(sql)


def sql(
    statements: Annotated[str | None, typer.Argument(help="SQL text.")] = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="A file of SQL.")] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
    durable: DurableOption = None,
) -> None:
    settings = CommandSettings(warehouse, pipelines, wait, as_json, durable)
    if statements is not None and file is not None:
        raise typer.BadParameter("give SQL text or a file, not both")
    if file is not None and str(file) != "-" and not file.is_file():
        raise typer.BadParameter(f"the file {file} does not exist")
    if str(file) == "-":
        file = None
    if statements is None and file is None and sys.stdin.isatty():
        raise typer.Exit(_converse(settings))
    from floodmark.sql.files import read_sql

    with command_connection(settings) as connection:
        before = set(connection.warehouse.suspensions())
        if statements is not None:
            run_script(connection, settings, statements)
        elif file is not None:
            run_script(connection, settings, read_sql(file), str(file))
        else:
            run_script(connection, settings, sys.stdin.read())
        if connection.transaction.is_open:
            typer.echo("WARNING:  no COMMIT: nothing of the transaction is written", err=True)
        fresh = set(connection.warehouse.suspensions()) - before
        code = suspension_code(connection) if fresh else 0
    raise typer.Exit(code)


def _converse(settings: CommandSettings) -> int:
    from floodmark.cli.prompt import Prompt

    with open_connection(settings) as connection:
        Prompt(connection, settings, lambda text: run_script(connection, settings, text)).converse()
        return suspension_code(connection)


def run_script(
    connection: Floodmark, settings: CommandSettings, text: str, file: str | None = None
) -> None:
    """Run the statements of a text, and print each result as it comes."""
    for statement in connection.parse(text, file):
        show(connection.run_statement(statement), settings)


def show(result: Result, settings: CommandSettings) -> None:
    """Print a result: rows aligned as psql does it, or the status line."""
    for notice in result.notices:
        typer.echo(f"NOTICE:  {notice}", err=True)
    if settings.json:
        typer.echo(json.dumps(result_json(result), ensure_ascii=False))
    elif not result.columns:
        typer.echo(result.status)
    elif result.status == "EXPLAIN":
        typer.echo("\n".join(str(row[0]) for row in result.rows))
    else:
        names, types = [c.name for c in result.columns], [c.type for c in result.columns]
        typer.echo(table(names, types, result.rows))
        if result.status.startswith(_WRITING):
            typer.echo(result.status)


def result_json(result: Result) -> dict[str, object]:
    """Return a result for JSON: columns, rows as lists, the status, notices."""
    types = [c.type for c in result.columns]
    return {
        "status": result.status,
        "columns": [{"name": c.name, "type": c.type} for c in result.columns],
        "rows": [[json_value(v, t) for v, t in zip(r, types, strict=True)] for r in result.rows],
        "rowcount": result.rowcount,
        "notices": list(result.notices),
    }
