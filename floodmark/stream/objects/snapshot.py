"""Views and sinks without a snapshot: they begin with new rows, without those that exist."""

from __future__ import annotations

from floodmark.catalog.objects import CatalogObject
from floodmark.changelog import ChangelogMode
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.sql import statements as s
from floodmark.stream.operators.lower import StreamPlan

SNAPSHOT = "snapshot"
_ALONE = (n.JoinKind.INNER, n.JoinKind.SEMI)


def check_snapshot(plan: StreamPlan, obj: CatalogObject, *, stores: bool) -> None:
    """Raise E0851 where rows that go would have to be there; `stores` tells a view from a sink.

    What an operator keeps has not seen the rows of before: nothing can be taken out of it, and
    nothing can be told to be missing.
    """
    if obj.begins_whole:
        return
    keeps = stores or any(plan[node].state for node in plan.nodes)
    for node in plan.nodes:
        updated = isinstance(node, n.Scan) and plan[node].mode is not ChangelogMode.APPEND_ONLY
        padded = isinstance(node, n.Join) and node.kind not in _ALONE
        if (updated and keeps) or padded:
            why = (
                "pads or drops rows without a match, and would not know those"
                if padded
                else "reads rows that are updated, and would not know those"
            )
            raise NotSupported(
                "E0851",
                f"{obj.kind.value} {obj.name} needs a snapshot: it {why} of before",
                span=node.span or obj.statement.name.span,
                hint="leave snapshot = false out, or read an append-only input",
            )


def check_began(obj: CatalogObject, before: CatalogObject) -> None:
    """Raise E0856 where an object that is there would say that it began otherwise than it did.

    What depends on it asks the option: which rows a sink has written, and whether a view's rows
    follow from its query.
    """
    read = not isinstance(before.statement, s.RefusedDefinition)
    if not read or obj.kind is not before.kind or obj.begins_whole == before.begins_whole:
        return
    options: tuple[s.Option, ...] = getattr(obj.statement, "options", ())
    place = next((o.span for o in options if o.name.lower() == SNAPSHOT), None)
    began = "with a snapshot" if before.begins_whole else "without a snapshot"
    raise NotSupported(
        "E0856",
        f'{SNAPSHOT} says how "{obj.name}" began, and it began {began}',
        span=place or obj.statement.name.span,
        hint=f"leave {SNAPSHOT} as it was; or DROP {obj.name}, and CREATE it so",
    )


def check_continues(plan: StreamPlan, obj: CatalogObject, key: tuple[str, ...] | None) -> None:
    """Raise E0851 where a sink cannot go on with a view that began without a snapshot.

    What its operators keep is not handed on, and a table without its key begins anew.
    """
    keeps = any(o.state or o.own_table for o in plan.operators.values())
    if obj.begins_whole or (key and not keeps):
        return
    raise NotSupported(
        "E0851",
        f'"{obj.name}" began without a snapshot, and a sink could not go on with its rows',
        span=obj.statement.name.span,
        hint="CREATE TABLE … WITH (continuous = false) AS a SELECT of the view, and a sink into it "
        "WITH (snapshot = false)",
    )
