"""The text of ALTER statements."""

from __future__ import annotations

from floodmark.sql.printer.dialect import print_expression, quote_name
from floodmark.sql.printer.parts import (
    column_sql,
    conflict_sql,
    kind_sql,
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
)


def alter_sql(statement: Alter) -> str:
    """Return the text of an ALTER statement."""
    exists = "IF EXISTS " if statement.missing_ok else ""
    head = f"ALTER {kind_sql(statement.kind)}{exists}{object_sql(statement.name)}"
    return f"{head} {_action(statement)}"


def _action(statement: Alter) -> str:
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
            return ", ".join(map(_action, statement.actions))
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
