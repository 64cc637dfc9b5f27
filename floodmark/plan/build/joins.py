"""Joins of two relations: their condition, what USING makes one, and names that do not clash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from floodmark.changelog import is_hidden
from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import bind_condition
from floodmark.plan.bind.calls import bind_call
from floodmark.plan.bind.coercion import coerce
from floodmark.plan.bind.scope import Column
from floodmark.plan.build.lookups import lookup_join
from floodmark.plan.build.protocol import BoundNode, QueryBuilder
from floodmark.plan.expr.conjunctions import all_of, conjuncts
from floodmark.plan.expr.expressions import Call, ColumnRef, Expr, columns_of
from floodmark.plan.nodes.columns import fresh_name, with_column
from floodmark.scalar.promotion import common_type

_KINDS = {
    "": n.JoinKind.INNER,
    "INNER": n.JoinKind.INNER,
    "CROSS": n.JoinKind.INNER,
    "LEFT": n.JoinKind.LEFT,
    "RIGHT": n.JoinKind.RIGHT,
    "FULL": n.JoinKind.FULL,
}


def rename_clashes(left: BoundNode, right: BoundNode) -> BoundNode:
    """Return the right side with plan names that the left one does not use."""
    taken = set(left.node.names)
    clashes = [f.name for f in right.node.schema if f.name in taken]
    if not clashes:
        return right
    taken |= set(right.node.names)
    alias = right.scope.sources[0].alias or "t"
    renames: dict[str, str] = {}
    for name in clashes:
        base = f"{name}_{alias}" if is_hidden(name) else f"{alias}_{name}"
        renames[name] = fresh_name(base, taken)
    columns: list[tuple[str, Expr]] = [
        (renames.get(f.name, f.name), ColumnRef(f.type, f.name)) for f in right.node.schema
    ]
    return BoundNode(n.Project(right.node, tuple(columns)), right.scope.rename(renames))


def join_relations(
    builder: QueryBuilder,
    left: BoundNode,
    right: BoundNode,
    join: exp.Join,
    *,
    looked_up: bool = False,
) -> BoundNode:
    """Return two relations joined as a JOIN says."""
    kind = _KINDS[(join.side or join.kind or "").upper()]
    both = replace(left.scope, outer=builder.outer).join(right.scope, builder.span(join))
    names = [u.name for u in join.args.get("using") or ()]
    if (join.args.get("method") or "").upper() == "NATURAL":
        shared = {c.name for c in right.scope.star(None, None)}
        # A name that one side has twice is ambiguous there.
        names = list(dict.fromkeys(c.name for c in left.scope.star(None, None) if c.name in shared))
    pairs, conditions = _using(builder, left, right, names, join)
    on = join.args.get("on")
    condition = (
        all_of(conditions) if on is None else bind_condition(on, both, builder.context, "JOIN … ON")
    )
    # What is kept elsewhere is asked by few types only.
    by_value = looked_up and not any(scan.external for scan in n.scans(right.node))
    span = builder.span(join)
    node: n.Node = join_on(left.node, right.node, kind, condition, span, by_value=by_value)
    if looked_up:
        node = lookup_join(builder, node, join)
    return _merge_columns(BoundNode(node, both), kind, pairs)


def join_on(
    left: n.Node,
    right: n.Node,
    kind: n.JoinKind,
    condition: Expr | None,
    span: Span | None,
    *,
    by_value: bool = False,
) -> n.Join:
    """Return the join, its condition split into equal columns and the rest.

    Sides of an equality that are expressions become columns of their input; with `by_value`
    also what a right column is compared with where that reads no column at all.
    """
    equi: list[tuple[str, str]] = []
    rest: list[Expr] = []
    for conjunct in conjuncts(condition) if condition is not None else ():
        match _sides(conjunct, frozenset(left.names), frozenset(right.names), by_value=by_value):
            case None:
                rest.append(conjunct)
            case (a, b):
                left, left_name = with_column(left, a, avoid=frozenset(right.names))
                right, right_name = with_column(right, b, avoid=frozenset(left.names))
                equi.append((left_name, right_name))
    return n.Join(left, right, kind, tuple(equi), all_of(rest), span=span)


def _sides(
    expr: Expr, left: frozenset[str], right: frozenset[str], *, by_value: bool
) -> tuple[Expr, Expr] | None:
    if not (isinstance(expr, Call) and expr.function == "=" and len(expr.args) == 2):
        return None
    a, b = expr.args
    reads_a, reads_b = columns_of(a), columns_of(b)
    if not (by_value or (reads_a and reads_b)):
        return None
    if reads_a <= left and reads_b and reads_b <= right:
        return a, b
    if reads_b <= left and reads_a and reads_a <= right:
        return b, a
    return None


def _using(
    builder: QueryBuilder, left: BoundNode, right: BoundNode, names: Iterable[str], join: exp.Join
) -> tuple[dict[str, tuple[Expr, Expr]], list[Expr]]:
    """Return the columns that USING makes one, brought to their common type, and the equalities."""
    pairs: dict[str, tuple[Expr, Expr]] = {}
    equal: list[Expr] = []
    span = builder.span(join)
    for name in names:
        if name in pairs:
            raise BindError(
                "E0212",
                f'USING names the column "{name}" twice',
                span=span,
                hint="name each column once",
            )
        a, b = (side.scope.own(None, name, span) for side in (left, right))
        type_ = common_type((a.type, b.type))
        if type_ is None:
            raise BindError(
                "E0212",
                f"USING ({name}) joins {a.type} with {b.type}",
                span=span,
                hint="write the condition with ON and a cast",
            )
        pairs[name] = coerce(a, type_), coerce(b, type_)
        equal.append(bind_call("=", (a, b), span))
    return pairs, equal


def _merge_columns(
    bound: BoundNode, kind: n.JoinKind, pairs: Mapping[str, tuple[Expr, Expr]]
) -> BoundNode:
    """Put what USING made one before the other columns, in their place."""
    if not pairs:
        return bound
    taken, shown, made = set(bound.node.names), list[Column](), list[tuple[str, Expr]]()
    for name, (a, b) in pairs.items():
        value = _one_of(kind, a, b)
        if not isinstance(value, ColumnRef):
            made.append((fresh_name(f"using_{name}", taken), value))
        plan_name = value.name if isinstance(value, ColumnRef) else made[-1][0]
        shown.append(Column(name, plan_name, value.type))
    node = bound.node
    if made:
        node = n.Project(node, (*node.identity, *made))
    used = {c for pair in pairs.values() for e in pair for c in columns_of(e)}
    rest = (c for c in bound.scope.columns if c.plan_name not in used)
    return BoundNode(node, replace(bound.scope, columns=(*shown, *rest)))


def _one_of(kind: n.JoinKind, a: Expr, b: Expr) -> Expr:
    """Return the value of two equal columns where one of them may be padding."""
    match kind:
        case n.JoinKind.FULL:
            return Call(a.type, "coalesce", (a, b))
        case n.JoinKind.RIGHT:
            return b
        case n.JoinKind.INNER if not isinstance(a, ColumnRef):
            return b
        case _:
            return a
