"""Which relations a query reads."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from floodmark.catalog.objects import DEFAULT_SCHEMA
from floodmark.sql import statements as s
from floodmark.sql.nodes import WindowTable


def relations_of(query: exp.Expression) -> tuple[str, ...]:
    """Return the names of the objects that a query reads, in order, each once."""
    return tuple(dict.fromkeys(map(table_name, tables_of(query))))


def tables_of(query: exp.Expression) -> tuple[exp.Table, ...]:
    """Return the places where a query names relations of the catalog."""
    tables = query.find_all(exp.Table)
    return tuple(t for t in tables if isinstance(t.this, exp.Identifier) and not is_shadowed(t))


def rename(table: exp.Table, name: s.ObjectName) -> None:
    """Let a reference read another relation, under the name that it had."""
    if table.args.get("alias") is None and table.name != name.name:
        alias = exp.TableAlias(this=exp.Identifier(this=table.name, quoted=False))
        table.set("alias", alias)
    place = dict(table.this.meta)
    table.set("this", exp.Identifier(this=name.name, quoted=False))
    table.this.meta.update(place)
    schema = name.schema and exp.Identifier(this=name.schema, quoted=False)
    table.set("db", schema or None)


def name_columns(table: exp.Table, known: Sequence[str], present: Sequence[str]) -> None:
    """Let a reference to a relation of the `present` columns call them as they were `known`."""
    alias = table.args.get("alias")
    given = [c.name for c in alias.args.get("columns") or ()] if alias is not None else []
    names = [*given, *known[len(given) :]]
    if isinstance(table.parent, WindowTable):
        # Its relation has no list of columns; a subquery has. The alias stands behind it.
        pairs = zip(present, names, strict=True)
        columns = [exp.alias_(exp.column(p, quoted=True), n, quoted=True) for p, n in pairs]
        around, bare = table.parent, table.copy()
        if around.args.get("alias") is None:
            around.set("alias", exp.TableAlias(this=exp.to_identifier(table.alias_or_name)))
        bare.set("alias", None)
        table.replace(exp.Subquery(this=exp.select(*columns).from_(bare)))
        return
    if alias is None:
        alias = exp.TableAlias(this=exp.to_identifier(table.name))
        table.set("alias", alias)
    alias.set("columns", [exp.to_identifier(name, quoted=True) for name in names])


def forget_column(table: exp.Table, known: Sequence[str], column: str) -> None:
    """Leave a column that goes out of the list of names that a reference gives to `known` ones."""
    alias = table.args.get("alias")
    given = alias.args.get("columns") or () if alias is not None else ()
    if column in known and known.index(column) < len(given):
        at = known.index(column)
        alias.set("columns", [*given[:at], *given[at + 1 :]])


def calls_of(*trees: exp.Expression | None) -> tuple[str, ...]:
    """Return the names of the functions that expressions call, in order, each once."""
    calls = (call for tree in trees if tree is not None for call in tree.find_all(exp.Anonymous))
    return tuple(dict.fromkeys(str(call.this).lower() for call in calls))


def table_name(table: exp.Table) -> str:
    """Return the catalog's form of a table reference."""
    schema = table.db
    return table.name if schema in ("", DEFAULT_SCHEMA) else f"{schema}.{table.name}"


def is_shadowed(table: exp.Table) -> bool:
    """Tell whether a WITH around the reference defines its name."""
    if table.db:
        return False
    node: exp.Expression | None = table
    while node is not None:
        clause = node.args.get("with_") or node.args.get("with")
        if clause is not None and _defines(clause, table):
            return True
        node = node.parent
    return False


def _defines(clause: exp.Expression, table: exp.Table) -> bool:
    """Tell whether a WITH gives a table's name to a query that is seen there.

    A query of the WITH sees those before it, with RECURSIVE also itself.
    """
    for cte in clause.expressions:
        if not clause.args.get("recursive") and _inside(table, cte):
            return False
        if cte.alias == table.name:
            return True
    return False


def _inside(node: exp.Expression, ancestor: exp.Expression) -> bool:
    step: exp.Expression | None = node
    while step is not None:
        if step is ancestor:
            return True
        step = step.parent
    return False
