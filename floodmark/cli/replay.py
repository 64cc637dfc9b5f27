"""`floodmark replay`: recomputes sealed epochs and compares the results."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
from floodmark.cli.session import WRONG, command_connection

if TYPE_CHECKING:
    from floodmark.session.audit import ObjectReplay, RowDifference

DIFFERS = 2
HELP = """Recompute sealed epochs and compare the result with what they published.

\b
  floodmark replay                       the newest epoch
  floodmark replay --epoch 7             this one
  floodmark replay --sample 3            three epochs within the retention that have rows
  floodmark replay --object v --sample 3 three that changed v, and only v

Input and time come from the log; the warehouse is not changed. Exit codes: 0 all the same; 2
something differs; 1 something could not be replayed, and the rest is the same.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", help=HELP)(replay)


def replay(
    epoch: Annotated[int | None, typer.Option(min=1, help="The epoch to replay.")] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Replay this many epochs within the retention.")
    ] = None,
    object_: Annotated[
        list[str] | None, typer.Option("--object", help="Replay only this object; repeatable.")
    ] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    if epoch is not None and sample is not None:
        raise typer.BadParameter("give --epoch or --sample, not both")
    settings = CommandSettings(warehouse, pipelines, wait, as_json)
    with command_connection(settings) as connection:
        replays = connection.replay(epoch, sample=sample, objects=object_ or None)
    typer.echo(json.dumps([replay_json(r) for r in replays]) if as_json else text_of(replays))
    raise typer.Exit(exit_code(replays))


def exit_code(replays: Sequence[ObjectReplay]) -> int:
    """Return 2 if something differs, or else 1 if something could not be replayed."""
    outcomes = {r.result.name for r in replays}
    if "DIFFERS" in outcomes:
        return DIFFERS
    return WRONG if "IMPOSSIBLE" in outcomes else 0


def text_of(replays: Sequence[ObjectReplay]) -> str:
    """Return a line per object and epoch; below it why, and the rows that differ."""
    if not replays:
        return "nothing to replay: no such epoch touched an object"
    rows = [
        [str(r.epoch), r.object, f"{r.rows:,}" if r.digest else "", r.digest, r.result.value]
        for r in replays
    ]
    headers = ["epoch", "object", "rows", "digest", "replay"]
    head, *lines = columns(headers, rows, right=["epoch", "rows"]).split("\n")
    out = [head]
    for line, one in zip(lines, replays, strict=True):
        out.append(line)
        out += [f"       {detail}" for detail in _details(one)]
    return "\n".join(out)


def _details(one: ObjectReplay) -> list[str]:
    lines = [one.cause] if one.cause else []
    return lines + [_row(difference) for difference in one.differences]


def _row(difference: RowDifference) -> str:
    """Return a row that one side alone has: `stored change: __kind +I, k 1, v 2`."""
    parts = zip(difference.names, difference.values, difference.types, strict=True)
    shown = ", ".join(f"{name} {cell(value, type_)}" for name, value, type_ in parts)
    times = "" if difference.count == 1 else f" ({difference.count} times)"
    return f"{difference.side:<8} {difference.part}: {shown}{times}"


def replay_json(one: ObjectReplay) -> dict[str, Any]:
    """Return one object's replay for JSON."""
    return {
        "epoch": one.epoch,
        "object": one.object,
        "replay": one.result.name.lower(),
        "rows": one.rows,
        "digest": one.digest,
        "replayed_digest": one.replayed,
        "cause": one.cause,
        "differences": [
            {
                "side": d.side,
                "part": d.part,
                "count": d.count,
                "row": {
                    n: json_value(v, t) for n, v, t in zip(d.names, d.values, d.types, strict=True)
                },
            }
            for d in one.differences
        ],
    }
