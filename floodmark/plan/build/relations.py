"""FROM: the relations it names, alone and joined, to nodes."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from floodmark.catalog.objects import Relation
from floodmark.catalog.references import table_name
from floodmark.changelog import is_hidden
from floodmark.errors import Span
from floodmark.plan import nodes as n
from floodmark.plan.bind.scope import Column, QueryScope, Source
from floodmark.plan.build.aliases import alias_of
from floodmark.plan.build.joins import join_relations, rename_clashes
from floodmark.plan.build.lookups import lookup_only, lookup_table, refuse_version
from floodmark.plan.build.protocol import BoundNode, QueryBuilder
from floodmark.plan.build.table_functions import function_of, function_rows, join_function
from floodmark.plan.build.window_tables import window_table
from floodmark.sql.nodes import WindowTable


def build_from_clause(builder: QueryBuilder, select: exp.Expression) -> BoundNode | None:
    """Return the joined relations of a SELECT, or None when it has no FROM."""
    clause = select.args.get("from_") or select.args.get("from")
    if clause is None:
        return None
    bound = build_relation(builder, clause.this)
    for join in select.args.get("joins") or ():
        bound = _join(builder, bound, join)
    return bound


def build_relation(builder: QueryBuilder, item: exp.Expression) -> BoundNode:
    """Return one relation of FROM with the joins that are nested in it."""
    bound = _relation(builder, item)
    for join in item.args.get("joins") or ():
        bound = _join(builder, bound, join)
    return bound


def _relation(builder: QueryBuilder, item: exp.Expression) -> BoundNode:
    match item:
        case WindowTable():
            return window_table(builder, item, _relation(builder, item.this))
        case exp.Table(this=exp.Identifier()):
            return _table(builder, item)
        case exp.Subquery():
            return _subquery(builder, item)
        case exp.Values():
            return _name_columns(builder, builder.query(item), item, "")
        case exp.Lateral(this=exp.Subquery()):
            raise builder.refuse(
                "E0331",
                "LATERAL is not available yet",
                item,
                hint="join with the subquery and compare in ON; for the first rows of each, number "
                "them in it with row_number() OVER (PARTITION BY …)",
            )
        case _:
            return function_rows(builder, item)


def _table(builder: QueryBuilder, item: exp.Table, *, looked_up: bool = False) -> BoundNode:
    refuse_version(builder, item)
    name = table_name(item)
    cte = None if item.db else builder.ctes.get(item.name)
    if cte is not None:
        return _name_columns(builder, cte, item, item.name)
    if name in builder.views:
        return _name_columns(builder, builder.views[name], item, item.name)
    relation = builder.relation(name, builder.span(item))
    if relation.external and not looked_up:
        raise lookup_only(builder, relation.name, item)
    scan = scan_of(relation, builder.span(item))
    # What is looked up once does not change with what its key has later.
    # Nor where the row of a key ends unheard, and another one of it comes.
    key = () if looked_up or relation.drops_silently else relation.primary_key
    return _name_columns(builder, scan, item, relation.name.rpartition(".")[2], key)


def scan_of(relation: Relation, span: Span | None) -> n.Scan:
    """Return the node that reads a relation."""
    return n.Scan(
        object=relation.name,
        columns=relation.columns,
        stream_key=relation.stream_key,
        mode=relation.mode,
        watermarks=tuple(n.WatermarkColumn(c, g) for c, g in relation.watermarks),
        metadata=relation.metadata,
        static=relation.static,
        external=relation.external,
        drops_silently=relation.drops_silently,
        span=span,
    )


def _subquery(builder: QueryBuilder, item: exp.Subquery) -> BoundNode:
    if not _holds_relations(item):
        return _name_columns(builder, builder.query(item), item, "")
    bound = build_relation(builder, item.this)
    if item.args.get("alias") is None:
        return bound
    # Its name hides those of the relations inside, as that of a query does.
    return _rename_columns(builder, bound.node, bound.scope.columns, item, "")


def _holds_relations(item: exp.Subquery) -> bool:
    """Tell whether parentheses in FROM hold relations, as `(a JOIN b ON …)`, and not a query."""
    inner = item.this
    if isinstance(inner, exp.Subquery):
        named = inner.args.get("alias") or inner.args.get("joins")
        return bool(named) or _holds_relations(inner)
    return not isinstance(inner, (exp.Select, exp.SetOperation, exp.Values))


def _name_columns(
    builder: QueryBuilder,
    node: n.Node,
    item: exp.Expression,
    default: str,
    key: tuple[str, ...] = (),
) -> BoundNode:
    """Put a relation in scope under its alias and column aliases."""
    columns = tuple(Column(f.name, f.name, f.type) for f in node.schema)
    return _rename_columns(builder, node, columns, item, default, key)


def _rename_columns(
    builder: QueryBuilder,
    node: n.Node,
    columns: tuple[Column, ...],
    item: exp.Expression,
    default: str,
    key: tuple[str, ...] = (),
) -> BoundNode:
    shown = [c for c in columns if not is_hidden(c.name)]
    name, given = alias_of(builder, item, default, len(shown))
    names = dict(zip((c.plan_name for c in shown), given, strict=False))
    columns = tuple(replace(c, name=names.get(c.plan_name, c.name)) for c in columns)
    return BoundNode(node, QueryScope.from_sources(Source(name, columns, key=key)))


def _join(builder: QueryBuilder, left: BoundNode, join: exp.Join) -> BoundNode:
    if (join.args.get("method") or "").upper() == "ASOF":
        raise builder.refuse(
            "E0334",
            "ASOF joins are not available yet",
            join,
            hint="join on the equality and a.t >= b.t, and keep the rows with row_number() OVER "
            "(PARTITION BY the key of a ORDER BY b.t DESC) = 1",
        )
    if function_of(join.this) is not None and not join.this.args.get("joins"):
        bound = join_function(builder, left, join)
        if bound is not None:
            return bound
    table = lookup_table(builder, join.this, left)
    if table is not None:
        right = rename_clashes(left, _table(builder, table, looked_up=True))
        plain = join.copy()
        plain.set("this", table)
        return join_relations(builder, left, right, plain, looked_up=True)
    right = rename_clashes(left, build_relation(builder, join.this))
    return join_relations(builder, left, right, join)
