"""Conflict behaviour of tables, and assignments."""

from __future__ import annotations

from sqlglot import exp

from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.names import read_names
from floodmark.sql.statements import Assignment, ConflictAction, ConflictClause

# The spellings of 2.1, then those of other systems.
_CONFLICT_ACTIONS = (
    ("do nothing", ConflictAction.DO_NOTHING),
    ("do update full", ConflictAction.UPDATE_FULL),
    ("do update if not null", ConflictAction.UPDATE_IF_NOT_NULL),
    ("do update set", ConflictAction.UPDATE_SET),
    ("ignore", ConflictAction.DO_NOTHING),
    ("do ignore", ConflictAction.DO_NOTHING),
    ("overwrite", ConflictAction.UPDATE_FULL),
    ("do overwrite", ConflictAction.UPDATE_FULL),
    ("do upsert", ConflictAction.UPDATE_FULL),
    ("upsert", ConflictAction.UPDATE_FULL),
    ("partial update", ConflictAction.UPDATE_IF_NOT_NULL),
    ("do partial update", ConflictAction.UPDATE_IF_NOT_NULL),
)


def read_conflict(cursor: Cursor) -> ConflictClause:
    """Read `ON CONFLICT …` with all its old spellings, and WITH VERSION COLUMN."""
    start = cursor.index
    cursor.expect("on", "conflict")
    assignments: tuple[Assignment, ...] = ()
    where: exp.Expression | None = None
    action = _read_action(cursor)
    if action is ConflictAction.UPDATE_SET:
        assignments = tuple(cursor.comma_list(read_assignment))
        where = cursor.expression() if cursor.accept("where") else None
    return ConflictClause(
        action=action,
        assignments=assignments,
        where=where,
        version_columns=read_version_columns(cursor),
        span=cursor.span_from(start),
    )


def _read_action(cursor: Cursor) -> ConflictAction:
    for words, action in _CONFLICT_ACTIONS:
        if cursor.accept(*words.split()):
            return action
    if cursor.is_at("with", "version"):
        return ConflictAction.UPDATE_FULL
    raise cursor.syntax_error(
        "a conflict behaviour",
        hint="DO NOTHING, DO UPDATE FULL, DO UPDATE IF NOT NULL or DO UPDATE SET column = …",
    )


def read_version_columns(cursor: Cursor) -> tuple[str, ...]:
    """Read `WITH VERSION COLUMN (name, …)` when it comes next."""
    if not cursor.accept("with", "version"):
        return ()
    if cursor.accept_any("column", "columns") is None:
        raise cursor.syntax_error("COLUMN")
    if not cursor.is_at("("):
        raise cursor.syntax_error("the version columns in parentheses")
    return read_names(cursor)


def read_assignment(cursor: Cursor) -> Assignment:
    """Read `column = value` or `(c1, c2) = row`."""
    start = cursor.index
    if cursor.is_at("("):
        targets = cursor.paren_list(_read_target_column)
        cursor.expect("=")
        value = cursor.expression()
        is_tuple = True
    else:
        targets, is_tuple = [_read_target_column(cursor)], False
        cursor.expect("=", hint="an assignment is written column = value")
        value = _read_assigned_value(cursor)
    tables = tuple(table for table, _ in targets if table is not None)
    columns = tuple(column for _, column in targets)
    span = cursor.span_from(start)
    return Assignment(columns, value, is_tuple, tables, span)


def _read_target_column(cursor: Cursor) -> tuple[str | None, str]:
    """Read a column that may stand behind the table's name, and a schema before that."""
    table, name = None, cursor.name("a column name")
    while cursor.accept("."):
        table, name = name, cursor.name("a column name", any_word=True)
    return table, name


def _read_assigned_value(cursor: Cursor) -> exp.Expression:
    start = cursor.index
    if cursor.accept("default"):
        return cursor.node(start, exp.Var(this="DEFAULT"))
    return cursor.expression()
