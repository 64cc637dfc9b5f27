"""Lookup joins: `JOIN t FOR SYSTEM_TIME AS OF PROCTIME()`."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.build.protocol import BoundNode, QueryBuilder
from floodmark.plan.expr.expressions import ColumnRef, Expr, Now
from floodmark.scalar.types import Kind

ASKED_BY = (
    Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.VARCHAR, Kind.UUID, Kind.BOOLEAN, Kind.DATE
)  # fmt: skip
"""The types of the columns by which something outside can be asked."""


def refuse_version(builder: QueryBuilder, item: exp.Table) -> None:
    """Raise E0333 for a relation at a version."""
    for arg in ("version", "when", "sample"):
        if item.args.get(arg) is not None:
            raise builder.refuse(
                "E0333",
                "FOR SYSTEM_TIME AS OF is allowed only after JOIN, with PROCTIME()",
                item,
                hint="a JOIN t FOR SYSTEM_TIME AS OF PROCTIME() ON a.k = t.k; an ordinary join, "
                "without it, also follows changes of the table",
            )


def lookup_table(builder: QueryBuilder, item: exp.Expression, left: BoundNode) -> exp.Table | None:
    """Return the relation of `t FOR SYSTEM_TIME AS OF PROCTIME()` without its time, or None.

    As in Flink, the time may also be a column of the left side that a subquery gave PROCTIME().
    """
    if not isinstance(item, exp.Table) or item.args.get("version") is None:
        return None
    time = bind_scalar(item.args["version"].expression, left.scope, builder.context)
    if not isinstance(_origin(time, left.node), Now) or not isinstance(item.this, exp.Identifier):
        refuse_version(builder, item)
    if item.args.get("joins"):
        raise builder.refuse(
            "E0333",
            "the right side of a lookup join is one table, not a join",
            item,
            hint="write its ON condition directly after it, and then the other JOIN",
        )
    plain = item.copy()
    plain.set("version", None)
    return plain


def _origin(expr: Expr, node: n.Node) -> Expr:
    """Return what a column was computed as; itself where that is not in the same query."""
    while isinstance(expr, ColumnRef):
        match node:
            case n.Project():
                expr, node = dict(node.columns)[expr.name], node.input
            case n.Filter() | n.Join() | n.LookupJoin():
                node = next(child for child in node.inputs if expr.name in child.names)
            case _:
                break
    return expr


def lookup_only(builder: QueryBuilder, name: str, item: exp.Table) -> NotSupported:
    """Return E0396: what is outside is asked by key, not read whole."""
    return builder.refuse(
        "E0396",
        f"{name} is an external table: it can only be looked up",
        item,
        hint=f"JOIN {name} FOR SYSTEM_TIME AS OF PROCTIME() ON a.k = {name}.k",
    )


def lookup_join(builder: QueryBuilder, node: n.Node, place: exp.Expression) -> n.LookupJoin:
    """Return a join as a lookup; it keeps left rows or pairs, and looks up by equality."""
    assert isinstance(node, n.Join)
    if node.kind not in n.LookupJoin.KINDS or not node.equi:
        raise builder.refuse(
            "E0384",
            "a lookup join is INNER or LEFT and needs an equality with a column of its right side",
            place,
            hint="JOIN t FOR SYSTEM_TIME AS OF PROCTIME() ON a.k = t.k",
        )
    static = all(scan.static for scan in n.scans(node.right))
    lookup = n.LookupJoin(
        node.left, node.right, node.kind, node.equi, node.residual, static=static, span=node.span
    )
    if lookup.external is not None:
        _check_lookup_columns(builder, lookup, lookup.external, place)
    return lookup


def _check_lookup_columns(
    builder: QueryBuilder, node: n.LookupJoin, scan: n.Scan, place: exp.Expression
) -> None:
    asked = node.lookup_columns
    types = [scan.field(c).type for c in asked or ()]
    if asked is None or any(t.kind not in ASKED_BY for t in types):
        raise builder.refuse(
            "E0397",
            f"{scan.object} cannot be looked up by "
            f"{'an expression' if asked is None else types[0]}",
            place,
            hint="compare its own columns, of whole numbers, text, UUID, BOOLEAN or DATE, with "
            "values of the same type: ON a.k::int = t.k",
        )
