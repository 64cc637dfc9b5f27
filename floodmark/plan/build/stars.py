"""`*` and `t.*` of a select list, with the columns that EXCEPT leaves out."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import BindError
from floodmark.plan.bind.scope import QueryScope
from floodmark.plan.build.outputs import Item
from floodmark.plan.build.protocol import QueryBuilder
from floodmark.plan.expr.expressions import ColumnRef


def star_of(item: exp.Expression) -> exp.Star | None:
    """Return the `*` that an element of a select list is, with or without a relation's name."""
    star = item.this if isinstance(item, exp.Column) else item
    return star if isinstance(star, exp.Star) else None


def expand_star(
    builder: QueryBuilder, item: exp.Expression, scope: QueryScope
) -> list[Item] | None:
    """Return the columns that an element of a select list stands for; None where it is no `*`.

    E0135 where EXCEPT names a column that is not among them, or one twice, or leaves none.
    """
    star = star_of(item)
    if star is None:
        return None
    span = builder.span(item)
    table = item.table or None if isinstance(item, exp.Column) else None
    columns = scope.star(table, span)
    dropped: set[str] = set()
    for named in star.args.get("except_") or ():
        name = scope.own(named.table or table, named.name, builder.span(named)).name
        if name in dropped or name not in {c.plan_name for c in columns}:
            fault = "is left out twice" if name in dropped else "is not among the columns of *"
            raise BindError(
                "E0135",
                f'column "{named.name}" {fault}',
                span=builder.span(named),
                hint="EXCEPT takes columns of *, each once",
            )
        dropped.add(name)
    kept = [c for c in columns if c.plan_name not in dropped]
    if dropped and not kept:
        raise BindError(
            "E0135", "EXCEPT leaves no column of *", span=span, hint="leave at least one column"
        )
    return [Item(c.name, ColumnRef(c.type, c.plan_name, span=span)) for c in kept]
