"""`floodmark plan`: shows, and with --apply makes, the changes of the pipeline files."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

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
from floodmark.cli.run import object_line
from floodmark.cli.session import command_connection, suspension_code

if TYPE_CHECKING:
    from floodmark.api import Floodmark
    from floodmark.session.ddl.deployment import DeploymentPlan
    from floodmark.session.ddl.effects import ObjectEffect
    from floodmark.session.ddl.file_objects import Drift

_SIGNS = {"create": ("+", "green"), "alter": ("~", "green"), "replace": ("~", "green"),
          "rebuild": ("~", "yellow"), "reset": ("±", "red"), "suspend": ("!", "yellow"),
          "drop": ("-", "red")}  # fmt: skip
_DIFF_STYLES = {"+": "green", "-": "red"}
HELP = """Show what the pipeline files would change in the warehouse: objects, SQL, consequences.

\b
  floodmark plan                     show only; nothing is changed
  floodmark plan --apply             apply the changes, in one epoch
  floodmark plan --json              the same as data

An altered object keeps its rows. A replaced one changes by the differences, in one epoch. A
rebuilt one is recomputed from its inputs. Rows that statements wrote are lost if a table is
reset or dropped, which needs --discard-rows. Asks before it rebuilds or drops, unless --yes is
given or stdin is not a terminal.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", help=HELP)(plan)


def plan(
    apply: Annotated[bool, typer.Option("--apply", help="Apply the changes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    discard_rows: Annotated[
        bool,
        typer.Option("--discard-rows", help="Allow changes that lose rows written by statements."),
    ] = False,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
    durable: DurableOption = None,
) -> None:
    settings = CommandSettings(warehouse, pipelines, wait, as_json, durable)
    code = 0
    with command_connection(settings) as connection:
        from floodmark.epochs.recovery import pending_epoch
        from floodmark.session.ddl.effects import effects
        from floodmark.session.ddl.file_objects import drift

        plan = connection.plan(settings.pipelines)
        note, drifted = effects(plan, connection.warehouse), drift(plan.catalog)
        started = pending_epoch(connection.warehouse)
        refused = refusals(connection)
        if settings.json:
            rebases = {
                key: list(names) for key, names in connection.deployed.sources_to_rebase.items()
            }
            more = {"to_rebase": rebases, "open": started, "refused": refused}
            typer.echo(json.dumps(plan_json(note, drifted) | more))
        else:
            show(note, drifted)
            for key, names in connection.deployed.sources_to_rebase.items():
                what = f"{', '.join(names)} means something else"
                typer.echo(f"! {key} does not go on (E0377): {what}; ALTER SOURCE {key} REBASE")
            for key, said in refused.items():
                typer.echo(f"! {key} is suspended ({said['code']}): {said['message']}")
                typer.echo(f"  {said['remedy']}")
            if started is not None:
                typer.echo(
                    f"! epoch {started} is open: the next run, statement or apply finishes it"
                )
        if apply and (plan.changes or started) and (yes or settings.json or _confirm(plan)):
            code = _apply(connection, settings, discard_rows=discard_rows)
        elif plan.changes and not settings.json and not apply:
            typer.echo("\nnothing has been changed; `floodmark plan --apply` does it")
    raise typer.Exit(code)


def refusals(connection: Floodmark) -> dict[str, dict[str, str]]:
    """Return the objects whose definition this version refuses, each with the remedy."""
    from floodmark.warehouse.suspensions import remedy

    objects = connection.deployed.pipeline.objects
    return {
        key: {
            "code": event.code or "",
            "message": event.message,
            "remedy": remedy(objects[key], event),
        }
        for key, event in connection.warehouse.refusals().items()
    }


def show(effects: Sequence[ObjectEffect], drifted: Sequence[Drift]) -> None:
    """Print a line per object, with its changed SQL and the consequences."""
    from rich.console import Console
    from rich.text import Text

    from floodmark.session.ddl.effects import sql_diff, totals

    console = Console(soft_wrap=True, highlight=False)
    changed = [effect for effect in effects if effect.action != "keep"]
    if not changed:
        console.print("nothing would change")
    width = max((len(e.key) for e in changed), default=0)
    for effect in changed:
        sign, style = _SIGNS[effect.action]
        head = f"{sign} {effect.action:<7}  {effect.key:<{width}}  {effect.kind:<17}"
        console.print(Text(f"{head}  {effect.does}".rstrip(), style=style))
        if effect.reason not in ("new", effect.does):
            console.print(Text(f"    why: {effect.reason}", style="dim"))
        for text in sql_diff(effect):
            console.print(Text(f"    {text}", style=_DIFF_STYLES.get(text[:1], "dim")))
        if effect.downstream and effect.action != "create":
            reached = ", ".join(f"{key} ({action})" for key, action in effect.downstream)
            console.print(Text(f"    downstream: {reached}", style="dim"))
    kept = [effect.key for effect in effects if effect.action == "keep"]
    if changed and kept:
        console.print(Text(f"= keep     {', '.join(kept)}", style="dim"))
    for drift in drifted:
        console.print(Text(f"! {drift}", style="yellow"))
    if changed:
        console.print(", ".join(f"{n} to {action}" for action, n in totals(effects).items()))


def plan_json(effects: Sequence[ObjectEffect], drifted: Sequence[Drift]) -> dict[str, Any]:
    """Return a plan for JSON."""
    from floodmark.session.ddl.effects import sql_diff, totals

    return {
        "changes": [
            {
                "object": e.key,
                "kind": e.kind,
                "action": e.action,
                "reason": e.reason,
                "effect": e.does,
                "rows": e.rows,
                "loses": e.loses,
                "filled_from": list(e.source),
                "before": None if e.change is None else e.change.before,
                "after": None if e.change is None else e.change.after,
                "diff": sql_diff(e),
                "downstream": [key for key, _ in e.downstream],
                "downstream_actions": dict(e.downstream),
            }
            for e in effects
            if e.action != "keep"
        ],
        "kept": [e.key for e in effects if e.action == "keep"],
        "totals": dict(totals(effects)),
        "drift": [
            {"object": d.key, "what": d.what, "file": d.file, "line": d.line} for d in drifted
        ],
    }


def _confirm(plan: DeploymentPlan) -> bool:
    """Ask before something that exists is lost; only where somebody can answer."""
    loses = any(c.action not in ("create", "alter", "replace") for c in plan.changes)
    return not loses or not sys.stdin.isatty() or typer.confirm("apply?")


def _apply(connection: Floodmark, settings: CommandSettings, *, discard_rows: bool) -> int:
    quiet = settings.json
    if not quiet:
        typer.echo("")
        connection.loop.on_progress = lambda e, r: typer.echo(object_line(e, r))
    changes = connection.apply(settings.pipelines, discard_rows=discard_rows).changes
    if not quiet:
        what = "applied in" if changes else "finished"
        typer.echo(f"{what} epoch {connection.warehouse.log.head().sealed}")
        if connection.has_new():
            typer.echo("the sources have rows to take in: floodmark run")
    return suspension_code(connection)
