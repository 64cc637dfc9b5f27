"""`floodmark diff`: the rows of two relations, compared."""

from __future__ import annotations

import json
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
from floodmark.cli.rendering import cell, columns, json_value
from floodmark.cli.session import command_connection

if TYPE_CHECKING:
    from floodmark.tools.diff import Diff, Example
    from floodmark.tools.diff_sides import Side

DIFFERS = 2
HELP = """Compare the rows of two relations: by a common key, or else as multisets.

\b
  floodmark diff totals totals_new         two tables or views, at the last sealed epoch
  floodmark diff totals@7 totals@9         one at two epochs within the retention
  floodmark diff totals /lake/totals       a Delta table from elsewhere; /lake/totals@3: its version
  floodmark diff a b --key id,day          rows are identified by these columns

Columns that differ are printed first. Values are compared by IS NOT DISTINCT FROM. Exit codes: 0
the same; 2 columns or rows differ; 1 the command was wrong; 3 try again.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff", help=HELP)(diff)


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="x, x@epoch, or a path.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The same.")],
    limit: Annotated[int, typer.Option(min=0, help="Examples of each kind of difference.")] = 5,
    epoch: Annotated[int | None, typer.Option(min=0, help="The epoch of both.")] = None,
    key: Annotated[str | None, typer.Option(help="Columns that identify rows: a,b.")] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    by = None if key is None else [name.strip() for name in key.split(",") if name.strip()]
    if by is not None and not by:
        raise typer.BadParameter("--key needs the names of columns")
    settings = CommandSettings(warehouse, pipelines, wait, as_json)
    with command_connection(settings) as connection:
        from floodmark.tools.diff import diff as compare

        diff = compare(connection, a, b, at_epoch=epoch, key=by, limit=limit)
    typer.echo(json.dumps(diff_json(diff)) if as_json else text_of(diff))
    raise typer.Exit(0 if diff.same else DIFFERS)


def text_of(diff: Diff) -> str:
    """Return sides, columns that differ, the numbers, and the examples."""
    sides = [
        ["A", *_side(diff.a), f"{diff.rows_a:,}"],
        ["B", *_side(diff.b), f"{diff.rows_b:,}"],
    ]
    lines = [columns(["", "relation", "at", "rows"], sides, right=["rows"])]
    lines += [f"note     {text}" for text in diff.notices]
    lines += [f"column   {_column(d.name, d.a, d.b, d.is_compared)}" for d in diff.schema]
    how = f"by key ({', '.join(diff.key)})" if diff.key else "as bags: there is no key in both"
    lines.append(f"compared {how}")
    if diff.same_rows:
        lines.append("rows     the same")
        return "\n".join(lines)
    numbers = [(diff.only_a, "only in A"), (diff.only_b, "only in B"), (diff.changed, "changed")]
    lines.append("rows     " + ", ".join(f"{n:,} {what}" for n, what in numbers if n))
    if diff.changed:
        counts = sorted(diff.changed_columns.items(), key=lambda item: (-item[1], item[0]))
        lines.append("columns  " + ", ".join(f"{name} {count:,}" for name, count in counts))
    lines += [f"{one.kind:<9}  {_example(diff, one)}" for one in diff.examples]
    return "\n".join(lines)


def _side(side: Side) -> tuple[str, str]:
    at = f"version {side.version}" if side.epoch is None else f"epoch {side.epoch}"
    return side.name, at


def _column(name: str, a: object, b: object, compared: bool) -> str:
    if a is None or b is None:
        return f"{name} is only in {'A' if b is None else 'B'}: {a or b}"
    return f"{name} is {a} in A, {b} in B" + ("" if compared else ": not compared")


def _example(diff: Diff, one: Example) -> str:
    """Return `k 1, v 2` of a row that one side has, `k 1, v 2 -> 3` of a changed one."""
    parts = []
    for i, column in enumerate(diff.columns):
        a, b = (None if row is None else cell(row[i], str(column.type)) for row in (one.a, one.b))
        if one.a is None or one.b is None or column.name in diff.key:
            parts.append(f"{column.name} {b if a is None else a}")
        elif a != b:
            parts.append(f"{column.name} {a} -> {b}")
    return ", ".join(parts)


def diff_json(diff: Diff) -> dict[str, Any]:
    """Return a comparison for JSON."""
    return {
        "same": diff.same,
        "a": _side_json(diff.a, diff.rows_a),
        "b": _side_json(diff.b, diff.rows_b),
        "columns": [
            {
                "column": d.name,
                "a": None if d.a is None else str(d.a),
                "b": None if d.b is None else str(d.b),
                "compared": d.is_compared,
            }
            for d in diff.schema
        ],
        "key": list(diff.key),
        "only_a": diff.only_a,
        "only_b": diff.only_b,
        "changed": diff.changed,
        "changed_columns": dict(diff.changed_columns),
        "examples": [
            {"kind": e.kind, "a": _row_json(diff, e.a), "b": _row_json(diff, e.b)}
            for e in diff.examples
        ],
        "notices": list(diff.notices),
    }


def _side_json(side: Side, rows: int) -> dict[str, Any]:
    at = {"version": side.version} if side.epoch is None else {"epoch": side.epoch}
    return {"name": side.name, **at, "rows": rows}


def _row_json(diff: Diff, row: tuple[Any, ...] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    pairs = zip(diff.columns, row, strict=True)
    return {c.name: json_value(value, str(c.type)) for c, value in pairs}
