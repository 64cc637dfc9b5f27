"""Gives keys of type INTERVAL one form: `1 day` equals `24 hours`, and so is the same key.

What compares and sorts keys does so part by part; `=` and `<` go by the length. Groups and rows of
sets come out in that form, days and time; where rows pass as they are, the key is a column beside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, Call, ColumnRef, Expr
from floodmark.plan.nodes import SortKey
from floodmark.plan.nodes.columns import with_column
from floodmark.scalar.types import INTERVAL


def interval_keys(node: n.Node) -> n.Node:
    """Return the plan with one form for all intervals of a length where they are keys."""
    node = node.with_inputs([interval_keys(child) for child in node.inputs])
    match node:
        case n.Aggregate():
            calls = tuple((name, _distinct(call)) for name, call in node.aggregates)
            return replace(node, input=_replace_by_form(node.input, node.group), aggregates=calls)
        case n.OrderedNode():
            below, names = _add_forms(node.input, (*node.scope, *(k.column for k in node.keys)))
            scope, keys = names[: len(node.scope)], _sort_keys(node.keys, names)
            return _restore_columns(node.rearrange(below, scope, keys), node)
        case n.Pairing(external=None):
            left, lefts = _add_forms(node.left, (a for a, _ in node.equi), node.right)
            right, rights = _add_forms(node.right, (b for _, b in node.equi), left)
            equi = tuple(zip(lefts, rights, strict=True))
            return _restore_columns(replace(node, left=left, right=right, equi=equi), node)
        case _:
            forms = zip(node.inputs, node.identity_columns, strict=True)
            return node.with_inputs([_replace_by_form(child, columns) for child, columns in forms])


def _intervals(node: n.Node, columns: Iterable[str]) -> set[str]:
    return {c for c in columns if node.field(c).type == INTERVAL}


def _form(expr: Expr) -> Expr:
    return Call(INTERVAL, "interval_key", (expr,), span=expr.span)


def _distinct(call: AggCall) -> AggCall:
    if not call.distinct:
        return call
    args = (_form(arg) if arg.type == INTERVAL else arg for arg in call.args)
    return replace(call, args=tuple(args))


def _sort_keys(order: tuple[SortKey, ...], names: tuple[str, ...]) -> tuple[SortKey, ...]:
    """Return sort keys over the last of the names."""
    columns = names[len(names) - len(order) :]
    return tuple(replace(key, column=c) for key, c in zip(order, columns, strict=True))


def _replace_by_form(node: n.Node, columns: Iterable[str]) -> n.Node:
    """Return a node with some of its columns in their form."""
    wanted = _intervals(node, columns)
    if not wanted:
        return node
    refs = ((f.name, ColumnRef(f.type, f.name)) for f in node.schema)
    return n.Project(node, tuple((c, _form(ref) if c in wanted else ref) for c, ref in refs))


def _add_forms(
    node: n.Node, columns: Iterable[str], other: n.Node | None = None
) -> tuple[n.Node, tuple[str, ...]]:
    """Return a node with the form of some columns added, and the names by which to compare."""
    names, avoid = tuple(columns), frozenset(() if other is None else other.names)
    forms = {}
    for name in sorted(_intervals(node, names)):
        node, forms[name] = with_column(node, _form(ColumnRef(INTERVAL, name)), avoid=avoid)
    return node, tuple(forms.get(name, name) for name in names)


def _restore_columns(node: n.Node, before: n.Node) -> n.Node:
    """Return a node with the columns that it had before."""
    if node.names == before.names:
        return node
    return n.Project(node, tuple((f.name, ColumnRef(f.type, f.name)) for f in before.schema))
