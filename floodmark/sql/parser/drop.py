"""DROP statements."""

from __future__ import annotations

from floodmark.sql.parser.create_function import read_parameters
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.elsewhere import refuse_elsewhere
from floodmark.sql.parser.names import read_object_kind, read_object_name
from floodmark.sql.statements import Drop, KindWord, ObjectName, Parameter


def read_drop(cursor: Cursor, start: int) -> Drop:
    """Read what follows DROP."""
    kind = read_object_kind(cursor)
    if kind is None:
        refuse_elsewhere("drop", cursor.current.value, span=cursor.place(cursor.current))
        raise cursor.syntax_error(
            "what kind of object to drop", hint="write DROP TABLE t, DROP SINK k, …"
        )
    if_exists = cursor.accept("if", "exists")
    dropped = cursor.comma_list(lambda cursor: _read_drop_name(cursor, kind))
    name, *others = (name for name, _ in dropped)
    with_rows = kind is KindWord.SINK and cursor.accept("with", "rows")
    cascade = cursor.accept_any("cascade", "restrict") == "cascade"
    return Drop(
        kind=kind,
        name=name,
        others=tuple(others),
        takes=tuple(taken for _, taken in dropped),
        if_exists=if_exists,
        cascade=cascade,
        with_rows=with_rows,
        span=cursor.span_from(start),
    )


def _read_drop_name(
    cursor: Cursor, kind: KindWord
) -> tuple[ObjectName, tuple[Parameter, ...] | None]:
    name = read_object_name(cursor)
    called = kind in (KindWord.FUNCTION, KindWord.AGGREGATE) and cursor.is_at("(")
    return name, read_parameters(cursor) if called else None
