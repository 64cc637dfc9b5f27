"""ADD, DROP and RENAME COLUMN of ALTER TABLE and ALTER SOURCE: the definition afterwards."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches

from sqlglot import exp

from floodmark.catalog.objects import CatalogObject
from floodmark.errors import BindError, NotSupported, Span
from floodmark.sql import statements as s

ColumnsStatement = s.CreateSource | s.CreateTable


def with_column(statement: s.AlterAddColumn, obj: CatalogObject) -> s.Definition:
    """Return the definition with one more column; E0830 to E0832 for one that has no value."""
    definition = _own_definition(obj, statement)
    column = statement.column
    if column.name in {c.name for c in definition.columns}:
        raise BindError(
            "E0830",
            f'"{obj.name}" has a column "{column.name}"',
            span=column.span,
            hint="give the new column another name, or write ADD COLUMN IF NOT EXISTS",
        )
    if column.generated is not None or column.primary_key or column.metadata_from is not None:
        raise NotSupported(
            "E0831",
            f'the column "{column.name}" cannot be added: stored rows have no value for it',
            span=column.span,
            hint="add plain columns, with a DEFAULT; a view can compute others",
        )
    if column.not_null and column.default is None:
        raise BindError(
            "E0832",
            f'the column "{column.name}" is NOT NULL, and stored rows have no value for it',
            span=column.span,
            hint="give it a DEFAULT, which stored rows take",
        )
    columns = (*definition.columns, column)
    if statement.conflict is None:
        return replace(definition, columns=columns)
    if not isinstance(definition, s.CreateTable):
        raise BindError(
            "E0841",
            f'"{obj.name}" is not a table',
            span=statement.conflict.span,
            hint="only tables have ON CONFLICT",
        )
    return replace(definition, columns=columns, conflict=statement.conflict)


def without_column(statement: s.AlterDropColumn, obj: CatalogObject) -> s.Definition:
    """Return the definition without a column; E0833 where the object itself needs it."""
    definition = _own_definition(obj, statement)
    _check_column(statement.column, definition, statement.span, obj)
    key = {c.name for c in definition.columns if c.primary_key}
    key |= set(definition.primary_key.columns) if definition.primary_key else set()
    needs = [
        *(["its primary key"] if statement.column in key else []),
        *(f"the watermark of {w.column}" for w in definition.watermarks if _uses(w, statement)),
        *(
            f"the generated column {c.name}"
            for c in definition.columns
            if c.generated is not None and _names(c.generated, statement.column)
        ),
        *(["ON CONFLICT"] if _resolves_conflicts_with(definition, statement.column) else []),
        *(["its TTL"] if _is_ttl_of(definition, statement.column) else []),
    ]
    if needs:
        raise BindError(
            "E0833",
            f'the column "{statement.column}" of "{obj.name}" cannot be dropped: {needs[0]} '
            "needs it",
            span=statement.span,
            hint="first change the table: ALTER TABLE … ON CONFLICT … without the column"
            if needs == ["ON CONFLICT"]
            else "create another table, and a sink into it",
        )
    kept = tuple(c for c in definition.columns if c.name != statement.column)
    if not kept:
        raise BindError(
            "E0833",
            f'the column "{statement.column}" of "{obj.name}" cannot be dropped: it is the last '
            "one",
            span=statement.span,
            hint=f"DROP TABLE {obj.name}",
        )
    return replace(definition, columns=kept)


def with_renamed_column(statement: s.AlterRenameColumn, obj: CatalogObject) -> s.Definition:
    """Return the definition with another name for a column, in all its expressions."""
    definition = _own_definition(obj, statement)
    old, new = statement.column, statement.new_name
    _check_column(old, definition, statement.span, obj)
    if new in {c.name for c in definition.columns}:
        raise BindError(
            "E0830",
            f'"{obj.name}" has a column "{new}"',
            span=statement.span,
            hint="choose another name",
        )
    if isinstance(definition, s.CreateSource) or definition.format is not None:
        raise NotSupported(
            "E0834",
            f'the columns of "{obj.name}" have the names that its connector delivers',
            span=statement.span,
            hint="a view can give a column another name: SELECT … AS …",
        )

    if any(w.column == old or _names(w.expression, old) for w in definition.watermarks):
        raise NotSupported(
            "E0833",
            f'the column "{old}" of "{obj.name}" cannot be renamed: it has a watermark',
            span=statement.span,
            hint="a view can give a column another name: SELECT … AS …",
        )

    def name(text: str) -> str:
        return new if text == old else text

    def rename(tree: exp.Expression | None) -> exp.Expression | None:
        return None if tree is None else rename_in_expression(tree, old, new)

    key = definition.primary_key
    return replace(
        definition,
        columns=tuple(
            replace(c, name=name(c.name), generated=rename(c.generated), default=rename(c.default))
            for c in definition.columns
        ),
        primary_key=None if key is None else replace(key, columns=tuple(map(name, key.columns))),
        conflict=_conflict(definition.conflict, old, new),
        options=tuple(
            replace(o, value=new) if _is_ttl_column(o) and o.value == old else o
            for o in definition.options
        ),
    )


def _conflict(clause: s.ConflictClause | None, old: str, new: str) -> s.ConflictClause | None:
    if clause is None:
        return None
    names = tuple(new if c == old else c for c in clause.version_columns)
    sets = tuple(
        replace(
            item,
            columns=tuple(new if c == old else c for c in item.columns),
            value=rename_in_expression(item.value, old, new),
        )
        for item in clause.assignments
    )
    where = None if clause.where is None else rename_in_expression(clause.where, old, new)
    return replace(clause, version_columns=names, assignments=sets, where=where)


def rename_in_expression(tree: exp.Expression, old: str, new: str) -> exp.Expression:
    """Return a copy of an expression over the object's own columns."""
    copy = tree.copy()
    for column in copy.find_all(exp.Column):
        if column.name == old:
            column.set("this", exp.to_identifier(new, quoted=True))
    return copy


def _names(tree: exp.Expression, column: str) -> bool:
    return any(c.name == column for c in tree.find_all(exp.Column))


def _uses(mark: s.WatermarkDef, statement: s.AlterDropColumn) -> bool:
    return mark.column == statement.column or _names(mark.expression, statement.column)


def _resolves_conflicts_with(definition: ColumnsStatement, column: str) -> bool:
    clause = definition.conflict if isinstance(definition, s.CreateTable) else None
    if clause is None:
        return False
    trees = [a.value for a in clause.assignments]
    trees += [] if clause.where is None else [clause.where]
    set_ = {c for a in clause.assignments for c in a.columns}
    named = column in clause.version_columns or column in set_
    return named or any(_names(tree, column) for tree in trees)


def _is_ttl_column(option: s.Option) -> bool:
    return option.name.lower() == "ttl_column"


def _is_ttl_of(definition: ColumnsStatement, column: str) -> bool:
    return any(_is_ttl_column(o) and o.value == column for o in definition.options)


def _own_definition(obj: CatalogObject, statement: s.Alter) -> ColumnsStatement:
    definition = obj.statement
    if isinstance(definition, s.CreateSource | s.CreateTable) and obj.part is None:
        return definition
    raise NotSupported(
        "E0835",
        f'the columns of "{obj.name}" follow from its query',
        span=statement.span,
        hint=f"ALTER {obj.kind.value.upper()} {obj.name} AS … gives it another query",
    )


def _check_column(
    column: str, definition: ColumnsStatement, span: Span | None, obj: CatalogObject
) -> None:
    names = [c.name for c in definition.columns]
    if column not in names:
        near = get_close_matches(column, names, n=3)
        hint = "did you mean " + ", ".join(near) + "?" if near else "DESCRIBE lists the columns"
        text = f'"{obj.name}" has no column "{column}"'
        raise BindError("E0836", text, span=span, hint=hint)
