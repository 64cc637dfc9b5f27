"""FROM: relations, joins and window table functions to nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.catalog.promotion import common_type
from floodmark.catalog.references import table_name
from floodmark.catalog.types import BOOLEAN, Kind, SqlType
from floodmark.changelog import is_hidden
from floodmark.errors import BindError
from floodmark.plan import nodes as n
from floodmark.plan.bind import bind_interval, bind_scalar
from floodmark.plan.coerce import coerce
from floodmark.plan.conjunctions import all_of, conjuncts
from floodmark.plan.expressions import Call, ColumnRef, Expr, columns_of
from floodmark.plan.lookups import looked_up_table, lookup_join, only_looked_up, refuse_version
from floodmark.plan.scope import Bound, Column, QueryScope, Source, fresh_name
from floodmark.plan.table_functions import alone, beside, function_of
from floodmark.sql.nodes import WindowTable

if TYPE_CHECKING:
    from floodmark.plan.build import Builder

_KINDS = {
    "": n.JoinKind.INNER,
    "INNER": n.JoinKind.INNER,
    "CROSS": n.JoinKind.INNER,
    "LEFT": n.JoinKind.LEFT,
    "RIGHT": n.JoinKind.RIGHT,
    "FULL": n.JoinKind.FULL,
}

_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
_DAY = 86_400_000_000


def build_from(builder: Builder, select: exp.Expression) -> Bound | None:
    """Return the joined relations of a SELECT, or None when it has no FROM."""
    clause = select.args.get("from_") or select.args.get("from")
    if clause is None:
        return None
    bound = build_relation(builder, clause.this)
    for join in select.args.get("joins") or ():
        bound = _join(builder, bound, join)
    return bound


def build_relation(builder: Builder, item: exp.Expression) -> Bound:
    """Return one relation of FROM with the joins that are nested in it."""
    bound = _relation(builder, item)
    for join in item.args.get("joins") or ():
        bound = _join(builder, bound, join)
    return bound


def _relation(builder: Builder, item: exp.Expression) -> Bound:
    match item:
        case WindowTable():
            return _window_table(builder, item)
        case exp.Table(this=exp.Identifier()):
            return _table(builder, item)
        case exp.Subquery():
            return _subquery(builder, item)
        case exp.Values():
            return _named(builder, builder.query(item), item, "")
        case exp.Lateral(this=exp.Subquery()):
            raise builder.refuse(
                "E0331",
                "LATERAL is not available yet",
                item,
                hint="join with the subquery and compare in ON; for the first rows of each, number "
                "them in it with row_number() OVER (PARTITION BY …)",
            )
        case _:
            return alone(builder, item)


def _table(builder: Builder, item: exp.Table, *, looked_up: bool = False) -> Bound:
    refuse_version(builder, item)
    name = table_name(item)
    cte = None if item.db else builder.cte(item.name)
    if cte is not None:
        return _named(builder, cte, item, item.name)
    if name in builder.views:
        return _named(builder, builder.views[name], item, item.name)
    relation = builder.relation(name, builder.span(item))
    if relation.external and not looked_up:
        raise only_looked_up(builder, relation.name, item)
    scan = n.Scan(
        object=relation.name,
        columns=relation.columns,
        stream_key=relation.stream_key,
        mode=relation.mode,
        watermarks=tuple(n.WatermarkColumn(c, g) for c, g in relation.watermarks),
        metadata=relation.metadata,
        static=relation.static,
        external=relation.external,
        span=builder.span(item),
    )
    # What is looked up once does not change with what its key has later.
    key = () if looked_up else relation.primary_key
    return _named(builder, scan, item, relation.name.rpartition(".")[2], key)


def _subquery(builder: Builder, item: exp.Subquery) -> Bound:
    if _holds_relations(item):
        return build_relation(builder, item.this)
    return _named(builder, builder.query(item), item, "")


def _holds_relations(item: exp.Subquery) -> bool:
    """Tell whether parentheses in FROM hold relations, as `(a JOIN b ON …)`, and not a query."""
    inner = item.this
    if isinstance(inner, exp.Subquery):
        named = inner.args.get("alias") or inner.args.get("joins")
        return bool(named) or _holds_relations(inner)
    return not isinstance(inner, (exp.Select, exp.SetOperation, exp.Values))


def _named(
    builder: Builder,
    node: n.Node,
    item: exp.Expression,
    default: str,
    key: tuple[str, ...] = (),
) -> Bound:
    """Put a relation in scope under its alias and column aliases."""
    alias = item.args.get("alias")
    name = (alias.name if alias is not None else "") or default
    renames = [c.name for c in (alias.args.get("columns") or ())] if alias is not None else []
    shown = [f for f in node.schema if not is_hidden(f.name)]
    if len(renames) > len(shown):
        raise BindError(
            "E0209",
            f'"{name}" has {len(shown)} columns, {len(renames)} names are given',
            span=builder.span(alias),
            hint="give at most one name per column",
        )
    names = dict(zip((f.name for f in shown), renames, strict=False))
    columns = tuple(Column(names.get(f.name, f.name), f.name, f.type) for f in node.schema)
    return Bound(node, QueryScope.of(Source(name, columns, key=key)))


def _window_table(builder: Builder, item: WindowTable) -> Bound:
    inner = _relation(builder, item.this)
    time = bind_scalar(item.args["time"], inner.scope, builder.context)
    if not isinstance(time, ColumnRef) or time.type.kind not in _TIMES:
        raise BindError(
            "E0210",
            f"{item.args['kind'].upper()} needs a timestamp or date column of its relation",
            span=builder.span(item.args["time"]),
            hint="name the column, e.g. TUMBLE(orders, event_time, INTERVAL '1' HOUR)",
        )
    taken = set(inner.node.names)
    start, end = fresh_name("window_start", taken), fresh_name("window_end", taken)
    node = _window_node(builder, item, inner, time, start, end)
    old = inner.scope.sources[0]
    alias = item.args.get("alias")
    shown = (
        *old.visible,
        Column("window_start", start, time.type),
        Column("window_end", end, time.type),
    )
    hidden = tuple(c for c in old.columns if c not in old.visible)
    name = alias.name if alias is not None and alias.name else old.alias
    return Bound(node, QueryScope.of(Source(name, (*shown, *hidden))))


def _window_node(
    builder: Builder, item: WindowTable, inner: Bound, time: ColumnRef, start: str, end: str
) -> n.Node:
    span = builder.span(item)
    match item.args["kind"]:
        case "tumble":
            size, shift = (_length(builder, item, name, time.type) for name in ("size", "offset"))
            return n.Tumble(inner.node, time.name, size, shift, start=start, end=end, span=span)
        case "hop":
            slide, size, shift = (
                _length(builder, item, name, time.type) for name in ("slide", "size", "offset")
            )
            return n.Hop(inner.node, time.name, slide, size, shift, start=start, end=end, span=span)
        case _:
            gap = _length(builder, item, "gap", time.type)
            node, names = inner.node, list[str]()
            for key in item.expressions:
                node, name = with_column(node, bind_scalar(key, inner.scope, builder.context))
                names.append(name)
            return n.Session(node, time.name, gap, tuple(names), start=start, end=end, span=span)


def _length(builder: Builder, item: WindowTable, name: str, time: SqlType) -> n.Interval:
    """Return a length of a window, or the offset of all, 0 where none is given."""
    given = item.args.get(name)
    if given is None:
        return 0, 0, 0
    months, days, micros = bind_interval(given, builder.context)
    if months or (name != "offset" and days * _DAY + micros <= 0):
        raise BindError(
            "E0211",
            "a window needs a fixed, positive length: days or less",
            span=builder.span(given),
            hint="a calendar month is GROUP BY date_trunc('month', ts)",
        )
    if time.kind is Kind.DATE and micros % _DAY:
        raise BindError(
            "E0211",
            "a window of dates needs a length of whole days",
            span=builder.span(given),
            hint="make times of the dates in a subquery: SELECT *, d::timestamp AS ts",
        )
    return months, days, micros


def disjoint(left: Bound, right: Bound) -> Bound:
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
    return Bound(n.Project(right.node, tuple(columns)), right.scope.renamed(renames))


def _join(builder: Builder, left: Bound, join: exp.Join) -> Bound:
    if (join.args.get("method") or "").upper() == "ASOF":
        raise builder.refuse(
            "E0334",
            "ASOF joins are not available yet",
            join,
            hint="join on the equality and a.t >= b.t, and keep those of which row_number() OVER "
            "(PARTITION BY the key of a ORDER BY b.t DESC) is 1",
        )
    if function_of(join.this) is not None and not join.this.args.get("joins"):
        bound = beside(builder, left, join)
        if bound is not None:
            return bound
    table = looked_up_table(builder, join.this, left)
    if table is not None:
        right = disjoint(left, _table(builder, table, looked_up=True))
        plain = join.copy()
        plain.set("this", table)
        return _paired(builder, left, right, plain, looked_up=True)
    right = disjoint(left, build_relation(builder, join.this))
    return _paired(builder, left, right, join)


def _paired(
    builder: Builder, left: Bound, right: Bound, join: exp.Join, *, looked_up: bool = False
) -> Bound:
    kind = _KINDS[(join.side or join.kind or "").upper()]
    both = replace(left.scope, outer=builder.outer).beside(right.scope, builder.span(join))
    names = [u.name for u in join.args.get("using") or ()]
    if (join.args.get("method") or "").upper() == "NATURAL":
        shared = {c.name for c in right.scope.star(None, None)}
        names = [c.name for c in left.scope.star(None, None) if c.name in shared]
    pairs = _using(builder, left, right, dict.fromkeys(names), join)
    on = join.args.get("on")
    conditions = [Call(BOOLEAN, "=", pair) for pair in pairs.values()]
    condition = all_of(conditions) if on is None else bind_scalar(on, both, builder.context)
    # What is kept elsewhere is asked by few types only.
    by_value = looked_up and not any(scan.external for scan in n.scans(right.node))
    node: n.Node = join_on(left.node, right.node, kind, condition, builder, join, by_value=by_value)
    if looked_up:
        node = lookup_join(builder, node, join)
    return _merged(Bound(node, both), kind, pairs)


def join_on(
    left: n.Node,
    right: n.Node,
    kind: n.JoinKind,
    condition: Expr | None,
    builder: Builder,
    place: exp.Expression,
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
    return n.Join(left, right, kind, tuple(equi), all_of(rest), span=builder.span(place))


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


def with_column(
    node: n.Node, expr: Expr, avoid: frozenset[str] = frozenset()
) -> tuple[n.Node, str]:
    """Return the node with the expression as one of its columns, and that column's name."""
    if isinstance(expr, ColumnRef):
        return node, expr.name
    name = fresh_name("__expr", set(node.names) | avoid)
    return n.Project(node, (*node.identity, (name, expr))), name


def _using(
    builder: Builder, left: Bound, right: Bound, names: Iterable[str], join: exp.Join
) -> dict[str, tuple[Expr, Expr]]:
    """Return the columns that USING makes one, brought to their common type."""
    pairs: dict[str, tuple[Expr, Expr]] = {}
    span = builder.span(join)
    for name in names:
        a, b = (side.scope.own(None, name, span) for side in (left, right))
        found = common_type((a.type, b.type))
        if found is None:
            raise BindError(
                "E0212",
                f"USING ({name}) joins {a.type} with {b.type}",
                span=span,
                hint="write the condition with ON and a cast",
            )
        pairs[name] = coerce(a, found), coerce(b, found)
    return pairs


def _merged(bound: Bound, kind: n.JoinKind, pairs: Mapping[str, tuple[Expr, Expr]]) -> Bound:
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
    return Bound(node, replace(bound.scope, columns=(*shown, *rest)))


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
