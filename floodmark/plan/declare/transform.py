"""TRANSFORM USING: what a source makes of a row before anything is stored.

The query is one map, filter and projection of the source's own rows, nested selects flattened into
it. It is taken apart. The parts that do not read the time decide which rows are stored, and how.
Conditions that compare the row with `now()` become the period in which the row is seen, stored
beside it. So no input is read again to know when a row comes and goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from sqlglot import exp

from floodmark.catalog.objects import DEFAULT_SCHEMA, Relation
from floodmark.catalog.references import table_name
from floodmark.changelog import is_hidden
from floodmark.errors import BindError, NotSupported, Span
from floodmark.plan import nodes as n
from floodmark.plan.build.builder import build_query
from floodmark.plan.declaration import RowTransform
from floodmark.plan.expr.conjunctions import all_of, conjuncts
from floodmark.plan.expr.determinism import reads_now
from floodmark.plan.expr.expressions import (
    AttemptExpr,
    Call,
    ColumnRef,
    Expr,
    OutcomeExpr,
    transform,
    walk,
)
from floodmark.plan.rules.temporal import NoPeriodError, period_of, place_of
from floodmark.scalar.functions import lookup
from floodmark.scalar.functions.user import UserFunction
from floodmark.sql import statements as s
from floodmark.sql.spans import span_of

NamedExprs = tuple[tuple[str, Expr], ...]
_KEPT_KEY = "__key_{}"
"""The name of a key column that the query projects away."""
_RELATIONS = (exp.From, exp.Join, exp.CTE, exp.SetOperation)
"""Where a query in parentheses stands for rows, not for a value."""
_VIEW = "write that as a materialized view over the source, or WITH (split = true) behind the query"


def bind_transform(
    part: s.Transform, raw: Relation, functions: Mapping[str, UserFunction], source: Span
) -> RowTransform | None:
    """Return the parts of a source's TRANSFORM USING; `raw` is the source as it would be without.

    None where nothing is to be done to a row. Raises E0345 for more than one map, filter and
    projection of the source, E0357 for a condition on `now()` without a period, E0359 for a value
    that another evaluation would not give again.
    """
    if part.query is None:
        return None
    _check_relations(part.query, raw, source)
    node = build_query(part.query, {raw.name: raw}, source, functions=functions)
    columns, parts = _flatten(node, part)
    for _, expr in columns:
        _check_value(expr)
    return transform_of(columns, parts, raw)


def transform_of(columns: NamedExprs, parts: Sequence[Expr], raw: Relation) -> RowTransform:
    """Return a transformation of columns and conditions over the rows that come."""
    lowers, uppers, plain = _split(parts)
    shown = [(name, expr) for name, expr in columns if not is_hidden(name)]
    transform = RowTransform(tuple(shown))
    hidden = [c for c in raw.primary_key if c not in transform.plain_columns]
    types = {f.name: f.type for f in raw.columns}
    kept = tuple((_KEPT_KEY.format(c), ColumnRef(types[c], c)) for c in hidden)
    key = tuple(transform.plain_columns.get(c, _KEPT_KEY.format(c)) for c in raw.primary_key)
    given = {f.name for f in raw.columns if not f.nullable}
    columns = (*shown, *kept)
    full = {name for name, e in columns if isinstance(e, ColumnRef) and e.name in given}
    timed = all_of([p for part in parts for p in conjuncts(part) if reads_now(p)])
    return RowTransform(columns, all_of(plain), lowers, uppers, key, frozenset(full), timed)


def _check_relations(query: exp.Expression, raw: Relation, source: Span) -> None:
    """Refuse a query that reads anything but the source itself."""
    for table in query.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and table_name(table) != raw.name:
            ctes = {cte.alias for cte in query.find_all(exp.CTE)}
            if table.db in ("", DEFAULT_SCHEMA) and table.name in ctes:
                continue
            raise BindError(
                "E0345",
                f'TRANSFORM USING of "{raw.name}" reads another relation, "{table_name(table)}"',
                span=span_of(table, source),
                hint=f"it sees one row of {raw.name} at a time; join in a view over the source",
            )


def _flatten(node: n.Node, part: s.Transform) -> tuple[NamedExprs, list[Expr]]:
    """Return columns and conditions of a query over the rows that came."""
    match node:
        case n.Scan():
            return node.identity, []
        case n.Project():
            below, parts = _flatten(node.input, part)
            inside = dict(below)
            return tuple((name, substitute(expr, inside)) for name, expr in node.columns), parts
        case n.Filter():
            below, parts = _flatten(node.input, part)
            return below, [*parts, substitute(node.predicate, dict(below))]
        case _:
            raise _more_than_rows(node, part)


def _more_than_rows(node: n.Node, part: s.Transform) -> NotSupported:
    """Return the refusal of an operator that is no map, filter or projection."""
    if isinstance(node, n.Values):
        text = "TRANSFORM USING reads nothing of the source"
        hint = "write SELECT … FROM the source's name"
        return NotSupported("E0345", text, span=_place(node, part), hint=hint)
    return NotSupported(
        "E0345",
        f"TRANSFORM USING reads one row at a time, but {_words(node)} needs other rows",
        span=_place(node, part),
        hint=_VIEW,
    )


def _place(node: n.Node, part: s.Transform) -> Span | None:
    """Return where a node stands in the SQL; one for a subquery that is a value, or for all."""
    assert part.query is not None
    values = (q for q in part.query.find_all(exp.Subquery) if not isinstance(q.parent, _RELATIONS))
    inner = (span_of(q, part.span) for q in (*values, part.query))
    return node.span or next(inner) or part.span


def substitute(expr: Expr, inside: Mapping[str, Expr]) -> Expr:
    """Return an expression with what its columns are below it."""
    return transform(expr, lambda e: inside[e.name] if isinstance(e, ColumnRef) else e)


def _words(node: n.Node) -> str:
    match node:
        case n.Pairing():
            return "a join or a subquery"
        case n.Aggregate(input=n.UnionAll()):
            return "UNION, INTERSECT or EXCEPT"
        case _ if node.positional_columns is not None:
            return "UNION, INTERSECT or EXCEPT"
        case n.Aggregate() | n.CloseAggregate():
            return "an aggregate, GROUP BY or DISTINCT"
        case n.OverWindow():
            return "a window function"
        case n.OrderedNode():
            return "ORDER BY, LIMIT or DISTINCT ON"
        case n.ProjectSet():
            return "a function that returns several rows"
        case n.Tumble() | n.Hop() | n.Session():
            return "a window of time"
        case _:
            return type(node).__name__


def _check_value(expr: Expr) -> None:
    """Refuse a column whose value would not be the same at another time."""
    if reads_now(expr):
        raise NotSupported(
            "E0359",
            "now() as a value of a row gives another value at each evaluation",
            span=place_of(expr),
            hint="INCLUDE INGESTION TIMESTAMP AS c is the time at which a row was taken in",
        )
    _check_stable(expr)


def is_kept(expr: Expr) -> bool:
    """Tell whether a value may be stored when a row comes: it would be the same later."""
    outcomes = any(isinstance(part, AttemptExpr | OutcomeExpr) for part in walk(expr))
    return not outcomes and not reads_now(expr) and _unstable(expr) is None


def is_intake_condition(part: Expr) -> bool:
    """Tell whether a condition may be asked when a row comes, or says when the row is seen."""
    if not reads_now(part):
        return is_kept(part)
    with suppress(NoPeriodError):
        period_of(part, branches=False)
        return _unstable(part) is None
    return False


def _unstable(expr: Expr) -> Call | None:
    """Return the first call that gives another value at another time."""
    calls = (part for part in walk(expr) if isinstance(part, Call))
    return next((c for c in calls if not lookup(c).ingestion_stable), None)


def _check_stable(expr: Expr) -> None:
    call = _unstable(expr)
    if call is not None:
        raise NotSupported(
            "E0359",
            f"{call.function}() gives another value at each evaluation",
            span=place_of(call) or place_of(expr),
            hint="stored rows must be reproducible; compute it in a materialized view over the "
            "source, which stores the value",
        )


def _split(
    parts: Sequence[Expr],
) -> tuple[tuple[Expr, ...], tuple[Expr, ...], list[Expr]]:
    """Return lower bounds, upper bounds and plain conditions."""
    lowers, uppers, plain = list[Expr](), list[Expr](), list[Expr]()
    for part in parts:
        _check_stable(part)
        try:
            period = period_of(part, branches=False)
        except NoPeriodError as error:
            raise error.refusal("does not say when a row is seen") from None
        lowers += period.lower_bounds
        uppers += period.upper_bounds
        plain += period.plain
    # The same bound may be asked for twice.
    return tuple(dict.fromkeys(lowers)), tuple(dict.fromkeys(uppers)), plain
