"""BEGIN, COMMIT, ROLLBACK and FLUSH."""

from __future__ import annotations

from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.statements import Begin, Commit, Flush, Rollback


def read_begin(cursor: Cursor, start: int) -> Begin:
    """Read what follows BEGIN; every isolation level up to REPEATABLE READ is given."""
    cursor.accept_any("transaction", "work")
    _read_isolation(cursor)
    return Begin(span=cursor.span_from(start))


def read_start(cursor: Cursor, start: int) -> Begin:
    """Read what follows START."""
    cursor.expect("transaction", hint="write START TRANSACTION, or BEGIN")
    _read_isolation(cursor)
    return Begin(span=cursor.span_from(start))


def _read_isolation(cursor: Cursor) -> None:
    if not cursor.accept("isolation"):
        return
    cursor.expect("level")
    read = cursor.accept("read")
    levels = ("committed", "uncommitted") if read else ("repeatable",)
    if cursor.accept_any(*levels) is None:
        hint = "REPEATABLE READ, READ COMMITTED and READ UNCOMMITTED are given"
        raise cursor.syntax_error("an isolation level", hint=hint)
    if not read:
        cursor.expect("read")


def read_commit(cursor: Cursor, start: int) -> Commit:
    """Read what follows COMMIT or END."""
    cursor.accept_any("transaction", "work")
    return Commit(span=cursor.span_from(start))


def read_rollback(cursor: Cursor, start: int) -> Rollback:
    """Read what follows ROLLBACK or ABORT."""
    cursor.accept_any("transaction", "work")
    return Rollback(span=cursor.span_from(start))


def read_flush(cursor: Cursor, start: int) -> Flush:
    """Read what follows FLUSH: nothing."""
    return Flush(span=cursor.span_from(start))
