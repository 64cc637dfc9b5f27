"""Statements to normalised SQL text: for SHOW CREATE, fingerprints and diffs.

Two statements have equal text exactly when they ask for the same; parsing the text and printing it
again gives the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from sqlglot import exp

from floodmark.sql.dialect import print_expression, quote_name, quote_string
from floodmark.sql.nodes import ConstantRows
from floodmark.sql.normalise_definitions import definition_sql
from floodmark.sql.normalise_parts import (
    assignments_sql,
    column_sql,
    conflict_sql,
    names_sql,
    object_sql,
    option_name_sql,
    options_sql,
    tail_sql,
    watermark_sql,
)
from floodmark.sql.statements import (
    Alter,
    AlterAddColumn,
    AlterColumns,
    AlterConflict,
    AlterDropColumn,
    AlterQuery,
    AlterRebase,
    AlterRename,
    AlterRenameColumn,
    AlterReset,
    AlterResume,
    AlterSet,
    AlterToTable,
    AlterWatermark,
    Begin,
    Commit,
    CopyFrom,
    CopyTo,
    Definition,
    Delete,
    Describe,
    Drop,
    Explain,
    ExplainFormat,
    Flush,
    Insert,
    ObjectKind,
    Rollback,
    Select,
    SetOption,
    Show,
    Statement,
    Update,
)


def to_sql(statement: Statement) -> str:
    """Return the normalised text, without a semicolon.

    >>> from floodmark.sql.parse import parse_statement
    >>> to_sql(parse_statement("select A+1 x from T"))
    'SELECT\\n  a + 1 AS x\\nFROM t'
    """
    match statement:
        case Definition():
            return definition_sql(statement)
        case Alter():
            return _alter(statement)
        case Select():
            return print_expression(statement.query, pretty=True)
        case Insert() | Update() | Delete() | CopyFrom() | CopyTo():
            return _write(statement)
        case Begin():
            return "BEGIN"
        case Commit():
            return "COMMIT"
        case Rollback():
            return "ROLLBACK"
        case Flush():
            return "FLUSH"
    return _command(statement)


def _command(statement: Statement) -> str:
    match statement:
        case Drop():
            parts = [
                f"DROP {statement.kind.value}",
                "IF EXISTS" if statement.if_exists else "",
                ", ".join(_dropped(statement)),
                "WITH ROWS" if statement.with_rows else "",
                "CASCADE" if statement.cascade else "",
            ]
            return " ".join(part for part in parts if part)
        case Explain():
            return _explain(statement)
        case Show():
            return _show(statement)
        case Describe():
            return f"DESCRIBE {_kind_sql(statement.kind)}{object_sql(statement.name)}"
        case SetOption():
            value = "DEFAULT" if statement.value is None else quote_string(statement.value)
            return f"SET {option_name_sql(statement.name)} = {value}"
    raise AssertionError(f"no printer for {type(statement).__name__}")


def _dropped(statement: Drop) -> Iterator[str]:
    names = (statement.name, *statement.others)
    for name, taken in zip_longest(names, statement.takes[: len(names)]):
        types = None if taken is None else [print_expression(p.type.type) for p in taken]
        yield object_sql(name) if types is None else f"{object_sql(name)}({', '.join(types)})"


def _explain(statement: Explain) -> str:
    flags = []
    if statement.format is not ExplainFormat.TEXT:
        flags.append(f"FORMAT {statement.format.value}")
    flags += ["STATE"] if statement.state else []
    head = f"EXPLAIN ({', '.join(flags)})" if flags else "EXPLAIN"
    if statement.statement is not None:
        return f"{head} {to_sql(statement.statement)}"
    assert statement.name is not None
    return f"{head} {_kind_sql(statement.kind)}{object_sql(statement.name)}"


def _kind_sql(kind: ObjectKind | None) -> str:
    return "" if kind is None else f"{kind.value} "


def _show(statement: Show) -> str:
    if statement.is_setting:
        return f"SHOW {statement.what}"
    text = f"SHOW {statement.what}"
    if statement.kind is not None:
        text += f" {statement.kind.value}"
    if statement.name is not None:
        link = " " if statement.what == "CREATE" else " FROM "
        text += link + object_sql(statement.name)
    return text if statement.like is None else f"{text} LIKE {quote_string(statement.like)}"


def _alter(statement: Alter) -> str:
    exists = "IF EXISTS " if statement.missing_ok else ""
    head = f"ALTER {_kind_sql(statement.kind)}{exists}{object_sql(statement.name)}"
    return f"{head} {_alter_action(statement)}"


def _alter_action(statement: Alter) -> str:
    match statement:
        case AlterAddColumn():
            exists = "IF NOT EXISTS " if statement.if_not_exists else ""
            text = f"ADD COLUMN {exists}{column_sql(statement.column)}"
            conflict = statement.conflict
            return text if conflict is None else f"{text}\n{conflict_sql(conflict)}"
        case AlterDropColumn():
            exists = "IF EXISTS " if statement.if_exists else ""
            cascade = " CASCADE" if statement.cascade else ""
            return f"DROP COLUMN {exists}{quote_name(statement.column)}{cascade}"
        case AlterColumns():
            return ", ".join(map(_alter_action, statement.actions))
        case AlterRename():
            return f"RENAME TO {quote_name(statement.new_name)}"
        case AlterRenameColumn():
            old, new = quote_name(statement.column), quote_name(statement.new_name)
            return f"RENAME COLUMN {old} TO {new}"
        case AlterWatermark():
            return f"ALTER {watermark_sql(statement.watermark)}"
        case AlterConflict():
            return conflict_sql(statement.conflict)
        case AlterReset():
            return f"RESET ({', '.join(map(option_name_sql, statement.names))})"
        case AlterSet():
            return f"SET {options_sql(statement.options)}"
        case AlterQuery():
            query = print_expression(statement.query, pretty=True)
            return f"AS\n{query}{tail_sql(statement.emit_on_window_close, statement.options)}"
        case AlterToTable():
            return "TO TABLE"
        case AlterResume():
            return "RESUME"
        case AlterRebase():
            return "REBASE"
    raise AssertionError(f"no printer for {type(statement).__name__}")


def _write(statement: Insert | Update | Delete | CopyFrom | CopyTo) -> str:
    match statement:
        case Insert():
            head = f"INSERT INTO {object_sql(statement.table)}{names_sql(statement.columns)}"
            return f"{head}\n{_insert_query(statement.query)}{_returning(statement.returning)}"
        case Update():
            head = f"UPDATE {object_sql(statement.table)}{_alias(statement.alias)}"
            head += f" SET {assignments_sql(statement.assignments)}"
            head += _relations("FROM", statement.from_) + _where(statement.where)
            return head + _returning(statement.returning)
        case Delete():
            head = f"DELETE FROM {object_sql(statement.table)}{_alias(statement.alias)}"
            head += _relations("USING", statement.using) + _where(statement.where)
            return head + _returning(statement.returning)
        case CopyFrom():
            head = f"COPY {object_sql(statement.table)}{names_sql(statement.columns)} FROM"
        case CopyTo() if statement.table is not None:
            head = f"COPY {object_sql(statement.table)} TO"
        case CopyTo():
            head = f"COPY (\n{print_expression(statement.query, pretty=True)}\n) TO"
    with_ = f" WITH {options_sql(statement.options)}" if statement.options else ""
    return f"{head} {quote_string(statement.path)}{with_}"


def _insert_query(query: exp.Expression) -> str:
    if isinstance(query, exp.Values) and isinstance(query.expressions[0], ConstantRows):
        return f"VALUES {query.expressions[0].name}"
    if isinstance(query, exp.Values) and not query.expressions[0].expressions:
        return "DEFAULT VALUES"
    if isinstance(query, exp.Values):
        rows = [f"({_items(row.expressions)})" for row in query.expressions]
        return "VALUES " + ", ".join(rows)
    return print_expression(query, pretty=True)


def _items(items: Iterable[exp.Expression]) -> str:
    return ", ".join(print_expression(item) for item in items)


def _alias(alias: str | None) -> str:
    return f" AS {quote_name(alias)}" if alias else ""


def _relations(word: str, select: exp.Expression | None) -> str:
    if select is None:
        return ""
    star = select.copy()
    star.set("expressions", [exp.Star()])
    text = print_expression(star)
    return f"\n{word} {text.removeprefix('SELECT * FROM ')}"


def _where(where: exp.Expression | None) -> str:
    return f"\nWHERE {print_expression(where)}" if where is not None else ""


def _returning(items: tuple[exp.Expression, ...]) -> str:
    return f"\nRETURNING {_items(items)}" if items else ""
