"""`floodmark plan`: what the pipeline files would change, and doing it."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

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
from floodmark.cli.run import object_line
from floodmark.cli.session import connected, suspended_code

if TYPE_CHECKING:
    from floodmark.analysis.pipeline import Pipeline
    from floodmark.api import Floodmark
    from floodmark.runtime.definition_changes import Change
    from floodmark.runtime.deployment import Plan

_SIGNS = {"create": ("+", "green"), "alter": ("~", "green"), "rebuild": ("~", "yellow"),
          "suspend": ("!", "yellow"), "drop": ("-", "red")}  # fmt: skip
_DIFF_STYLES = {"+": "green", "-": "red"}
HELP = """Show what the pipeline files would change in the warehouse: objects, SQL, what follows.

\b
  floodmark plan                     look only; nothing runs
  floodmark plan --apply             change it, in one epoch
  floodmark plan --json              the same as data

A rebuilt object is computed anew from what it reads; a table into which statements wrote rows is
rebuilt with --discard-rows only. Asks before it rebuilds or drops, unless
--yes is given or nobody is at the terminal.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", help=HELP)(plan)


def plan(
    apply: Annotated[bool, typer.Option("--apply", help="Apply the changes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    discard_rows: Annotated[
        bool,
        typer.Option("--discard-rows", help="Rebuild tables without what statements wrote."),
    ] = False,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    settings = Settings(warehouse, pipelines, wait, as_json)
    code = 0
    with connected(settings) as connection:
        found = connection.plan(settings.pipelines)
        before = connection.deployed.pipeline
        if settings.json:
            rebases = {key: list(names) for key, names in connection.deployed.to_rebase.items()}
            typer.echo(json.dumps(plan_json(found, before) | {"to_rebase": rebases}))
        else:
            show(found, before)
            for key, names in connection.deployed.to_rebase.items():
                what = f"{', '.join(names)} means something else"
                typer.echo(f"! {key} does not go on (E0377): {what}; ALTER SOURCE {key} REBASE")
        if apply and found.changes and (yes or settings.json or _agreed(found)):
            code = _apply(connection, settings, discard_rows=discard_rows)
        elif found.changes and not settings.json and not apply:
            typer.echo("\nnothing has been changed; `floodmark plan --apply` does it")
    raise typer.Exit(code)


def show(found: Plan, before: Pipeline) -> None:
    """Print the changes, their SQL and the objects that follow from them."""
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    if not found.changes:
        console.print("nothing would change")
        return
    width = max(len(c.key) for c in found.changes)
    for change in found.changes:
        sign, style = _SIGNS[change.action]
        kind = _kind(change, found, before)
        line = f"{sign} {change.action:<7}  {change.key:<{width}}  {kind:<17}  {change.reason}"
        console.print(Text(line.rstrip(), style=style))
        for text in sql_diff(change):
            console.print(Text(f"    {text}", style=_DIFF_STYLES.get(text[:1], "dim")))
        touched = downstream(found.pipeline, change.key)
        if change.action == "rebuild" and touched:
            console.print(Text(f"    downstream: {', '.join(touched)}", style="dim"))
    console.print(_totals(found))


def sql_diff(change: Change) -> list[str]:
    """Return the lines in which an object's SQL differs, with three lines around them."""
    if change.action not in ("alter", "rebuild") or change.before == change.after:
        return []
    old, new = (change.before or "").splitlines(), (change.after or "").splitlines()
    return [line for line in difflib.unified_diff(old, new, lineterm="") if line[:3] not in _HEADS]


_HEADS = ("---", "+++")


def downstream(pipeline: Pipeline, key: str) -> list[str]:
    """Return the keys of all objects that what flows out of an object reaches, in order."""
    reached = {key}
    for found in pipeline.objects.values():
        if reached.intersection((*found.reads, *found.feeders)):
            reached.add(found.key)
    return [k for k in pipeline.objects if k in reached and k != key]


def plan_json(found: Plan, before: Pipeline) -> dict[str, Any]:
    """Return a plan for JSON."""
    return {
        "changes": [
            {
                "object": c.key,
                "kind": _kind(c, found, before),
                "action": c.action,
                "reason": c.reason,
                "before": c.before,
                "after": c.after,
                "diff": sql_diff(c),
                "downstream": downstream(found.pipeline, c.key),
            }
            for c in found.changes
        ]
    }


def _kind(change: Change, found: Plan, before: Pipeline) -> str:
    pipeline = before if change.action == "drop" else found.pipeline
    return pipeline[change.key].kind.value


def _totals(found: Plan) -> str:
    return ", ".join(_count(found.changes))


def _count(changes: Iterable[Change]) -> Iterator[str]:
    words = {
        "create": "to create",
        "alter": "to alter",
        "rebuild": "to rebuild",
        "suspend": "to suspend",
        "drop": "to drop",
    }
    actions = [c.action for c in changes]
    for action, text in words.items():
        if action in actions:
            yield f"{actions.count(action)} {text}"


def _agreed(found: Plan) -> bool:
    """Ask before something that exists is lost; only where somebody can answer."""
    loses = any(c.action not in ("create", "alter") for c in found.changes)
    return not loses or not sys.stdin.isatty() or typer.confirm("apply?")


def _apply(connection: Floodmark, settings: Settings, *, discard_rows: bool) -> int:
    quiet = settings.json
    if not quiet:
        typer.echo("")
        connection.scheduler.on_progress = lambda e, r: typer.echo(object_line(e, r))
    connection.apply(settings.pipelines, discard_rows=discard_rows)
    if not quiet:
        typer.echo(f"applied in epoch {connection.scheduler.log.head().sealed}")
        if connection.has_new():
            typer.echo("the sources have rows to take in: floodmark run")
    return suspended_code(connection)
