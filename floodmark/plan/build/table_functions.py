"""Table functions in FROM: each row of what stands to their left is repeated for their rows."""

from __future__ import annotations

from sqlglot import exp

from floodmark.plan import nodes as n
from floodmark.plan.bind.binder import Binder
from floodmark.plan.bind.collectors import SetCall
from floodmark.plan.bind.scope import Column, QueryScope, Source
from floodmark.plan.bind.set_calls import bind_set, is_set
from floodmark.plan.build.aliases import alias_of
from floodmark.plan.build.lookups import refuse_version
from floodmark.plan.build.protocol import BoundNode, QueryBuilder
from floodmark.plan.expr.expressions import TRUE, Call, Case, ColumnRef, Expr, Literal, columns_of
from floodmark.plan.nodes.columns import fresh_name
from floodmark.scalar.types import BIGINT, BOOLEAN, Field

ONE_ROW = n.Values(((Literal(BIGINT, 0),),), (Field("__ordinal", BIGINT, False),))
"""What a query without FROM reads."""


def function_of(item: exp.Expression) -> exp.Expression | None:
    """Return the call of a table function, or None where a relation of FROM is none."""
    table = item.this if isinstance(item, exp.Lateral) else item
    called = isinstance(table, exp.Table) and not isinstance(table.this, exp.Identifier)
    return table.this if called else None


def function_rows(builder: QueryBuilder, item: exp.Expression) -> BoundNode:
    """Return a table function that reads nothing of its FROM."""
    below = BoundNode(ONE_ROW, QueryScope())
    return _repeat_rows(builder, below, item, _bind_function(builder, below, item))


def join_function(builder: QueryBuilder, left: BoundNode, join: exp.Join) -> BoundNode | None:
    """Return the rows on the left, each repeated for the rows that the function gives for it.

    None for a join that a function which reads nothing of the left side takes part in like any
    other relation; E0385 where one that does cannot.
    """
    item = join.this
    call = _bind_function(builder, left, item)
    side = (join.side or join.kind or "").upper()
    on = join.args.get("on")
    plain = not join.args.get("using") and not (join.args.get("method") or "")
    condition: Expr | None = None
    if plain and side in ("", "INNER", "CROSS"):
        bound = _repeat_rows(builder, left, item, call)
        if on is None:
            return bound
        condition = Binder(bound.scope, builder.context).condition(on, "ON")
        return BoundNode(n.Filter(bound.node, condition, span=builder.span(on)), bound.scope)
    if plain and side == "LEFT" and on is not None:
        condition = Binder(left.scope, builder.context).bind(on) if _is_true(on) else None
        if condition == TRUE:
            return _repeat_rows(builder, left, item, call, outer=True)
    if not columns_of(call.call):
        return None
    raise builder.refuse(
        "E0385",
        f"{call.name} reads columns of the left side: only CROSS, INNER and LEFT JOIN … ON true "
        "can repeat its rows",
        join,
        hint="write LEFT JOIN … ON true, and the condition in WHERE or in a subquery",
    )


def _is_true(on: exp.Expression) -> bool:
    return isinstance(on, exp.Boolean) or (isinstance(on, exp.Paren) and _is_true(on.this))


def _bind_function(builder: QueryBuilder, below: BoundNode, item: exp.Expression) -> SetCall:
    call = function_of(item)
    assert call is not None
    if isinstance(item, exp.Table):
        refuse_version(builder, item)
    binder = Binder(below.scope, builder.context)
    name = str(call.this).lower() if isinstance(call, exp.Anonymous) else ""
    if not is_set(binder, name):
        raise builder.refuse(
            "E0332",
            f"{name or 'this'} is not a table function",
            item,
            hint="such as unnest(array), generate_series(1, 9), jsonb_each(value)",
        )
    return bind_set(binder, name, call)


def _repeat_rows(
    builder: QueryBuilder,
    below: BoundNode,
    item: exp.Expression,
    call: SetCall,
    *,
    outer: bool = False,
) -> BoundNode:
    taken = set(below.node.names)
    outputs = tuple(fresh_name(name, taken) for name in call.columns)
    ordinal = fresh_name("__ordinal", taken)
    node: n.Node = n.ProjectSet(
        below.node, call.call, outputs, ordinal, unpacks=call.unpacks, outer=outer,
        span=builder.span(item),
    )  # fmt: skip
    columns = [*zip(call.columns, outputs, strict=True)]
    table = item.this if isinstance(item, exp.Lateral) else item
    if table.args.get("ordinality"):
        if outer:
            node, ordinal = _visible_ordinal(node, ordinal, fresh_name("ordinality", taken))
        columns.append(("ordinality", ordinal))
    source = _source(builder, item, call, node, columns)
    return BoundNode(node, below.scope.join(QueryScope.from_sources(source), builder.span(item)))


def _visible_ordinal(node: n.Node, ordinal: str, name: str) -> tuple[n.Node, str]:
    """Number rows for people: one that was padded has no number."""
    number = ColumnRef(BIGINT, ordinal)
    padded = Call(BOOLEAN, "=", (number, Literal(BIGINT, 0)))
    shown = Case(BIGINT, ((padded, Literal(BIGINT, None)),), number)
    return n.Project(node, (*node.identity, (name, shown))), name


def _source(
    builder: QueryBuilder,
    item: exp.Expression,
    call: SetCall,
    node: n.Node,
    columns: list[tuple[str, str]],
) -> Source:
    """Return the function's columns under its alias; a single one without a name has the alias."""
    name, given = alias_of(builder, item, call.name, len(columns))
    single = len(call.columns) == 1
    names = [shown for shown, _ in columns]
    if single and names[0] == call.name:
        names[0] = name
    names[: len(given)] = given
    made = tuple(
        Column(shown, plan, node.field(plan).type)
        for shown, (_, plan) in zip(names, columns, strict=True)
    )
    return Source(name, made, value=names[0] if single else None)
