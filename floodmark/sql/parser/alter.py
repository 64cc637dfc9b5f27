"""ALTER statements."""

from __future__ import annotations

from typing import Any, NoReturn

from floodmark.errors import NotSupported
from floodmark.sql.parser.as_query import read_as_query, read_view_tail
from floodmark.sql.parser.columns import read_column, read_watermark
from floodmark.sql.parser.conflicts import read_conflict
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.elsewhere import refuse_elsewhere
from floodmark.sql.parser.names import read_object_kind, read_object_name
from floodmark.sql.parser.options import read_option_name, read_options
from floodmark.sql.statements import (
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
    KindWord,
    Statement,
)

_OTHER_TYPE = (
    "ADD COLUMN another one, UPDATE … SET it = {c}::…, DROP COLUMN {c}, RENAME COLUMN it TO {c}; "
    "or cast in a view"
)
_OTHER_DEFAULT = "INSERT and sinks can give the value; or create another table, and a sink into it"
_OTHER_TABLE = "create another table, and a sink into it"
_CONSTRAINTS = ("constraint", "primary", "unique", "check", "foreign")
_ALONE = "one ALTER adds and drops any number of columns; any other change is an ALTER of its own"
_ACTIONS = "ADD COLUMN, DROP COLUMN, RENAME, ALTER WATERMARK, ON CONFLICT, SET, RESET, AS, RESUME"


def read_alter(cursor: Cursor, start: int) -> Statement:
    """Read what follows ALTER."""
    statement = _read_one(cursor, start)
    if cursor.is_at(","):
        raise cursor.syntax_error("the end of the statement", hint=_ALONE)
    return statement


def _read_one(cursor: Cursor, start: int) -> Statement:
    kind = read_object_kind(cursor)
    missing_ok = kind is not None and cursor.accept("if", "exists")
    head: dict[str, Any] = {
        "kind": kind,
        "name": read_object_name(cursor),
        "missing_ok": missing_ok,
    }
    match True:
        case _ if cursor.accept("resume"):
            return AlterResume(**head, span=cursor.span_from(start))
        case _ if cursor.accept("rebase"):
            return AlterRebase(**head, span=cursor.span_from(start))
        case _ if cursor.accept("rename"):
            return _read_rename(cursor, start, head)
        case _ if cursor.accept("set"):
            options = read_options(cursor)
            return AlterSet(**head, options=options, span=cursor.span_from(start))
        case _ if cursor.accept("reset"):
            names = cursor.paren_list(read_option_name)
            return AlterReset(**head, names=tuple(names), span=cursor.span_from(start))
    match kind:
        case KindWord.TABLE | KindWord.SOURCE:
            return _read_alter_table(cursor, start, head)
        case KindWord.SINK | KindWord.MATERIALIZED_VIEW | KindWord.VIEW:
            return _read_alter_query(cursor, start, head)
    if kind is None:
        refuse_elsewhere("alter", head["name"].name, span=head["name"].span)
    raise cursor.syntax_error(_ACTIONS)


def _read_rename(cursor: Cursor, start: int, head: dict[str, Any]) -> Statement:
    if cursor.accept("to"):
        new_name = cursor.name("a new name")
        if cursor.is_at("."):
            raise NotSupported(
                "E0794",
                "RENAME TO takes a name without a schema: an object stays in its schema",
                span=cursor.span_from(start),
                hint=f"ALTER … RENAME TO {new_name}, or CREATE it in the other schema",
            )
        return AlterRename(**head, new_name=new_name, span=cursor.span_from(start))
    cursor.accept("column")
    column = cursor.name("a column name")
    cursor.expect("to")
    new_name = cursor.name("a new name")
    return AlterRenameColumn(**head, column=column, new_name=new_name, span=cursor.span_from(start))


def _read_alter_table(cursor: Cursor, start: int, head: dict[str, Any]) -> Statement:
    marked = any(cursor.is_at(word, "watermark", "for") for word in ("add", "alter"))
    if not marked and (cursor.is_at("add") or cursor.is_at("drop")):
        return _read_columns(cursor, start, head)
    if cursor.accept_any("add", "alter"):
        if not marked:
            _refuse_column(cursor, start)
        watermark = read_watermark(cursor)
        return AlterWatermark(**head, watermark=watermark, span=cursor.span_from(start))
    if cursor.is_at("on", "conflict"):
        conflict = read_conflict(cursor)
        return AlterConflict(**head, conflict=conflict, span=cursor.span_from(start))
    raise cursor.syntax_error(_ACTIONS)


def _read_columns(cursor: Cursor, start: int, head: dict[str, Any]) -> Statement:
    """Read ADD COLUMN and DROP COLUMN, one or several."""
    actions = [_read_column(cursor, start, head)]
    while cursor.accept(","):
        if not (cursor.is_at("add") or cursor.is_at("drop")):
            raise cursor.syntax_error("ADD COLUMN or DROP COLUMN", hint=_ALONE)
        actions.append(_read_column(cursor, cursor.index, head))
    if len(actions) == 1:
        return actions[0]
    return AlterColumns(**head, actions=tuple(actions), span=cursor.span_from(start))


def _read_column(
    cursor: Cursor, start: int, head: dict[str, Any]
) -> AlterAddColumn | AlterDropColumn:
    if cursor.accept("add"):
        return _read_add_column(cursor, start, head)
    cursor.expect("drop")
    cursor.accept("column")
    if_exists = cursor.accept("if", "exists")
    column = cursor.name("a column name")
    cascade = cursor.accept_any("cascade", "restrict") == "cascade"
    return AlterDropColumn(
        **head,
        column=column,
        cascade=cascade,
        if_exists=if_exists,
        span=cursor.span_from(start),
    )


def _refuse_column(cursor: Cursor, start: int) -> NoReturn:
    """Raise E0853 for ALTER COLUMN: stored rows have been checked and computed with it."""
    cursor.accept("column")
    column = cursor.name("a column name, or WATERMARK FOR a column")
    what, hint = f'the type of the column "{column}" stays', _OTHER_TYPE.format(c=column)
    if cursor.accept_any("set", "drop") is not None and not cursor.is_at("data"):
        what, hint = f'the DEFAULT of the column "{column}" stays', _OTHER_DEFAULT
        if cursor.is_at("not"):
            what, hint = f'whether "{column}" can be NULL stays', _OTHER_TABLE
    elif not cursor.is_at_any("type", "data"):
        raise cursor.syntax_error("TYPE, SET or DROP", hint=hint)
    cursor.advance()
    raise NotSupported("E0853", what, span=cursor.span_from(start), hint=hint)


def _read_add_column(cursor: Cursor, start: int, head: dict[str, Any]) -> AlterAddColumn:
    if not cursor.accept("column") and cursor.is_at_any(*_CONSTRAINTS):
        raise cursor.syntax_error("a column name", hint=_OTHER_TABLE)
    if_not_exists = cursor.accept("if", "not", "exists")
    column = read_column(cursor)
    conflict = read_conflict(cursor) if cursor.is_at("on", "conflict") else None
    return AlterAddColumn(
        **head,
        column=column,
        conflict=conflict,
        if_not_exists=if_not_exists,
        span=cursor.span_from(start),
    )


def _read_alter_query(cursor: Cursor, start: int, head: dict[str, Any]) -> Statement:
    is_materialized = head["kind"] is KindWord.MATERIALIZED_VIEW
    if is_materialized and cursor.accept("to", "table"):
        return AlterToTable(**head, span=cursor.span_from(start))
    if not cursor.is_at("as"):
        raise cursor.syntax_error("AS, RENAME TO, SET or RESUME")
    query = read_as_query(cursor, head["kind"].value)
    tail = read_view_tail(cursor)
    return AlterQuery(**head, **tail, query=query, span=cursor.span_from(start))
