"""From the nodes of a query to its plan: rewritten, with its stream key, analysed."""

from __future__ import annotations

from dataclasses import replace

from floodmark.catalog.objects import CatalogObject, Relation
from floodmark.changelog import is_hidden
from floodmark.plan.nodes import Node, Scan, scans
from floodmark.plan.rules import RULES
from floodmark.plan.rules.temporal_filters import plain_filters, temporal_filters
from floodmark.sql import statements as s
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.stream.passes.emit_on_close import emit_on_close
from floodmark.stream.passes.keep_keys import keep_keys


def plan_of(node: Node, *, on_close: bool, statement: s.Statement, kept: bool = True) -> StreamPlan:
    """Return the rewritten, keyed and analysed plan of a query's nodes.

    `kept` tells that its rows are kept as time passes, not computed for a time that stands still.
    """
    node = plain_filters(node)
    for rule in RULES:
        node = rule(node)
    node = temporal_filters(node) if kept else node
    plan = lower(keep_keys(node))
    if on_close:
        plan = lower(keep_keys(emit_on_close(plan, statement)))
    return plan


def known_of(relation: Relation, names: tuple[str, ...] | None) -> Relation:
    """Return a relation without the columns that a definition does not know of.

    One with another key is another relation: all of it is seen.
    """
    if names is None or any(c not in names and not is_hidden(c) for c in relation.stream_key):
        return relation
    columns = (f for f in relation.columns if is_hidden(f.name) or f.name in names)
    return replace(relation, columns=tuple(columns))


def relation_of(declared: CatalogObject, plan: StreamPlan) -> Relation:
    """Return what queries see of a plan's rows."""
    top = plan[plan.root]
    return Relation(
        name=declared.key,
        kind=declared.kind,
        columns=plan.root.schema,
        stream_key=top.stream_key,
        mode=top.mode,
        watermarks=tuple((w.column, w.group) for w in top.watermarks),
    )


def reads(plan: StreamPlan) -> tuple[str, ...]:
    """Return the objects that a plan scans, each once."""
    return tuple(dict.fromkeys(scan.object for scan in scans(plan.root) if isinstance(scan, Scan)))
