"""What stands behind OVER: partitions, order and frames."""

from __future__ import annotations

from sqlglot import exp

from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.ordering import read_order_clause

_FRAME_SIDES = ("preceding", "following")


def read_window_body(cursor: Cursor) -> dict[str, object]:
    """Read `( [base] [PARTITION BY …] [ORDER BY …] [frame] )` to the arguments of Window."""
    cursor.expect("(")
    base = None
    if cursor.is_at_name() and not cursor.is_at_any(
        "partition", "rows", "range", "groups", "session"
    ):
        base = cursor.identifier()
    partition: list[exp.Expression] = []
    if cursor.accept("partition"):
        cursor.expect("by")
        partition = cursor.comma_list(Cursor.expression)
    order = read_order_clause(cursor)
    spec = _read_frame(cursor) if cursor.is_at_any("rows", "range", "groups", "session") else None
    cursor.expect(")")
    return {"alias": base, "partition_by": partition, "order": order, "spec": spec}


def _read_frame(cursor: Cursor) -> exp.WindowSpec:
    start = cursor.index
    kind = cursor.advance().value.upper()
    if kind == "SESSION":
        cursor.expect("with", "gap")
        return cursor.node(start, exp.WindowSpec(kind=kind, start=cursor.expression()))
    bounds: dict[str, object] = {}
    if cursor.accept("between"):
        bounds["start"], bounds["start_side"] = _read_frame_bound(cursor)
        cursor.expect("and")
        bounds["end"], bounds["end_side"] = _read_frame_bound(cursor)
    else:
        bounds["start"], bounds["start_side"] = _read_frame_bound(cursor)
        bounds["end"] = "CURRENT ROW"
    exclude = None
    if cursor.accept("exclude"):
        word = cursor.accept_any("group", "ties", "current", "no")
        if word is None:
            raise cursor.syntax_error("CURRENT ROW, GROUP, TIES or NO OTHERS")
        tail = {"current": "row", "no": "others"}.get(word)
        if tail is not None:
            cursor.expect(tail)
        exclude = exp.var(f"{word} {tail}".upper() if tail else word.upper())
    return cursor.node(start, exp.WindowSpec(kind=kind, exclude=exclude, **bounds))


def _read_frame_bound(cursor: Cursor) -> tuple[str | exp.Expression, str | None]:
    if cursor.accept("current", "row"):
        return "CURRENT ROW", None
    value = "UNBOUNDED" if cursor.accept("unbounded") else cursor.operand()
    side = cursor.accept_any(*_FRAME_SIDES)
    if side is None:
        raise cursor.syntax_error("PRECEDING or FOLLOWING")
    return value, side.upper()
