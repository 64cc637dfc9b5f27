"""Effects of a plan on each object, for the person who confirms it: rows kept, moved or lost.

The text and the JSON output share one list. Applying a plan uses its changes, not this list.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from floodmark.catalog.objects import ObjectKind
from floodmark.errors import DataError
from floodmark.session.ddl.deployment import DeploymentPlan
from floodmark.storage.logs.epochs import dml_of
from floodmark.storage.table import Store
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.tables.current import count_rows
from floodmark.tables.cut import Cut
from floodmark.warehouse.changes import ObjectChange
from floodmark.warehouse.warehouse import Warehouse


@dataclass(frozen=True)
class ObjectEffect:
    """The effect of a plan on one object.

    `action` is the action of its change; `reset` is a rebuild that loses rows of statements, and
    `loses` is the number of their changes. `rows` are stored now, None if it stores none. `source`
    names what it is filled from, `downstream` the affected readers by action.
    """

    key: str
    kind: str
    action: str
    reason: str
    does: str
    rows: int | None = None
    loses: int = 0
    source: tuple[str, ...] = ()
    downstream: tuple[tuple[str, str], ...] = ()
    change: ObjectChange | None = None


def sql_diff(effect: ObjectEffect) -> list[str]:
    """Return the lines in which an object's SQL differs, with three lines around them."""
    change = effect.change
    if change is None or None in (change.before, change.after) or change.before == change.after:
        return []
    old, new = (change.before or "").splitlines(), (change.after or "").splitlines()
    return [line for line in difflib.unified_diff(old, new, lineterm="") if line[:3] not in _HEADS]


_HEADS = ("---", "+++")


def effects(plan: DeploymentPlan, warehouse: Warehouse) -> list[ObjectEffect]:
    """Return the effects of a plan in the order of its changes, then the objects that it keeps."""
    before, after = warehouse.deployed().pipeline, plan.pipeline
    actions = {c.key: c.action for c in plan.changes}
    log = _Counts(warehouse.store, warehouse.cut(), warehouse.log.positions())
    out = []
    for change in plan.changes:
        obj = (before if change.action == "drop" else after)[change.key]
        old = before.objects.get(change.key)
        rows = None if old is None else log.rows(old)
        loses = log.count_written(change.key) if change.action in ("rebuild", "drop") else 0
        source = _row_sources(obj, change)
        reached = downstream(before if change.action == "drop" else after, change.key)
        note = tuple((key, actions.get(key, "keep")) for key in reached)
        action = "reset" if change.action == "rebuild" and loses else change.action
        does = _does(action, obj, source, rows, loses)
        out.append(
            ObjectEffect(
                change.key, obj.kind.value, action, change.reason, does, rows, loses, source,
                note, change,
            )
        )  # fmt: skip
    for key, obj in after.objects.items():
        if key not in actions:
            out.append(ObjectEffect(key, obj.kind.value, "keep", "", "as it is"))
    return out


@dataclass(frozen=True)
class _Counts:
    """How many rows there are, from file lists and the log."""

    store: Store
    cut: Cut
    positions: Mapping[str, Mapping[int, int]]

    def rows(self, obj: AnalysedObject) -> int | None:
        with suppress(DataError):  # an epoch that is open may have emptied it
            return count_rows(self.store, obj, self.cut.records.get(obj.key))
        return None

    def count_written(self, key: str) -> int:
        return self.positions.get(dml_of(key), {}).get(0, 0)


def downstream(pipeline: Pipeline, key: str) -> list[str]:
    """Return the keys of all objects downstream of an object, in order."""
    reached = {key}
    for obj in pipeline.objects.values():
        if reached.intersection((*obj.reads, *obj.feeders)):
            reached.add(obj.key)
    return [k for k in pipeline.objects if k in reached and k != key]


def _row_sources(obj: AnalysedObject, change: ObjectChange) -> tuple[str, ...]:
    """Return the inputs from which an object fills itself when it begins, or begins anew."""
    begins = change.action in ("create", "rebuild") and obj.object.begins_whole
    if not begins or obj.kind is ObjectKind.VIEW:
        return ()
    declared = obj.declared
    connector = () if declared is None or declared.connector is None else (declared.connector,)
    return (*connector, *obj.reads, *obj.feeders)


def _does(
    action: str, obj: AnalysedObject, source: tuple[str, ...], rows: int | None, loses: int
) -> str:
    """Say in words what becomes of an object's rows."""
    names, now = ", ".join(source), "" if not rows else f" ({_rows(rows)} now)"
    kept = "stores nothing" if rows is None else f"keeps {_rows(rows)}"
    match action:
        case "create" | "rebuild" if not obj.object.begins_whole:
            return f"begins empty, takes what changes in {', '.join(obj.reads)}{now}"
        case "create":
            return f"filled from {names}" if names else _empty(obj)
        case "alter":
            return kept if rows is not None else "goes on with the new definition"
        case "replace":
            return f"what differs changes in one epoch{now}"
        case "rebuild" if names:
            return f"filled anew from {names}{now}"
        case "rebuild":
            return "begins empty" if rows is not None else "has the new definition"
        case "reset":
            filled = f", filled anew from {names}" if names else ""
            lost = f"loses {_rows(rows)}, {loses} written by statements{filled}"
            return f"{lost}: with --discard-rows only"
        case "suspend":
            return f"{kept}, waits for REBASE"
        case "drop" if obj.kind is ObjectKind.SINK:
            return "goes; the rows that it has written stay"
        case "drop":
            written = f", {loses} written by statements: with --discard-rows only" if loses else ""
            return "goes" if rows is None else f"goes with {_rows(rows)}{written}"
        case _:
            return ""


def _empty(obj: AnalysedObject) -> str:
    return "empty" if obj.kind is ObjectKind.TABLE else "stores nothing"


def _rows(count: int | None) -> str:
    return "1 row" if count == 1 else f"{count or 0:,} rows"


def totals(effects: Iterable[ObjectEffect]) -> Mapping[str, int]:
    """Return how many objects have each effect, in the order of `ACTIONS`."""
    actions = [effect.action for effect in effects]
    return {action: actions.count(action) for action in ACTIONS if action in actions}


ACTIONS = ("create", "alter", "replace", "rebuild", "reset", "suspend", "drop", "keep")
"""What may become of an object."""
