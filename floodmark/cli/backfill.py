"""`floodmark backfill`: recomputes closed windows with the rows that came late."""

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
from floodmark.cli.session import command_connection

if TYPE_CHECKING:
    from floodmark.tools.corrections.correct import CorrectionResult

HELP = """Recompute closed windows of a view, with the rows that came late.

\b
  floodmark backfill hourly --from 2024-05-01 --to 2024-05-02
  floodmark sql "SELECT * FROM hourly__corrections"

The view emits on window close. The span is of its closing column; --to is excluded. Rows that it
has emitted stay: the differences are written to its corrections, each once. With --in-place they
are applied to the view: it is refilled with all its corrections, and so are its readers.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("backfill", help=HELP)(backfill)


def backfill(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A view that emits on window close.")],
    first: Annotated[
        str,
        typer.Option(
            "--from", metavar="TIME", help="The start of the span, in UTC: 2024-05-01T06:00"
        ),
    ],
    end: Annotated[
        str, typer.Option("--to", metavar="TIME", help="The end of the span, excluded.")
    ],
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Apply the corrections to the view's rows.")
    ] = False,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    settings = CommandSettings(warehouse, pipelines, wait, as_json)
    with command_connection(settings) as connection:
        from floodmark.tools.corrections.correct import EpochSpan, correct, parse_time

        span = EpochSpan(parse_time(first), parse_time(end))
        correction = correct(connection, name, span, in_place=in_place)
    typer.echo(json.dumps(correction_json(correction)) if as_json else text_of(correction))


def text_of(correction: CorrectionResult) -> str:
    """Return the result of the backfill as a line of text."""
    where = f": SELECT * FROM {correction.object}__corrections" if correction.rows else ""
    done = (
        f"\nin the rows of {correction.object} since epoch {correction.taken_in}"
        if correction.taken_in
        else ""
    )
    return f"{correction.words}{where}{done}"


def correction_json(correction: CorrectionResult) -> dict[str, Any]:
    """Return the result of the backfill for JSON."""
    return {
        "object": correction.object,
        "from": correction.span.first.isoformat(),
        "to": correction.span.end.isoformat(),
        "epoch": correction.epoch,
        "backfill": correction.backfill or None,
        "corrections": correction.rows,
        "in_place_epoch": correction.taken_in or None,
    }
