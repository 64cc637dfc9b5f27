"""SELECT and its clauses."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import NotSupported, SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.lookahead import check_not_empty
from floodmark.sql.parser.relations import read_from_list
from floodmark.sql.parser.windows import read_window_body
from floodmark.sql.words import AFTER_EXPRESSION

_CLAUSE_ORDER = ("where", "group", "having", "window", "order", "limit", "offset", "fetch")


def read_select(cursor: Cursor) -> exp.Select:
    """Read SELECT with its clauses, up to ORDER BY."""
    start = cursor.index
    cursor.expect("select")
    distinct = _read_distinct(cursor)
    check_not_empty(cursor, "SELECT", start)
    projections = cursor.comma_list(read_projection)
    select = exp.Select(expressions=projections, distinct=distinct)
    from_at = cursor.index
    if cursor.accept("from"):
        table, joins = read_from_list(cursor, from_at)
        select.set("from_", table)
        if joins:
            select.set("joins", joins)
    _read_clauses(cursor, select)
    return cursor.node(start, select)


def _read_distinct(cursor: Cursor) -> exp.Distinct | None:
    start = cursor.index
    if not cursor.accept("distinct"):
        cursor.accept("all")
        return None
    if not cursor.accept("on"):
        return cursor.node(start, exp.Distinct())
    at = cursor.index
    keys = cursor.node(at, exp.Tuple(expressions=cursor.paren_list(Cursor.expression)))
    return cursor.node(start, exp.Distinct(on=keys))


def read_projection(cursor: Cursor) -> exp.Expression:
    """Read one element of a SELECT or RETURNING list."""
    start = cursor.index
    if cursor.accept("*"):
        return _read_except(cursor, start, exp.Star())
    value = cursor.expression()
    if isinstance(value, exp.Column) and isinstance(value.this, exp.Star):
        return _read_except(cursor, start, value)
    if cursor.accept("as"):
        alias = cursor.identifier("an alias", any_word=True)
    elif cursor.is_at_name() and not _is_at_clause(cursor):
        alias = cursor.identifier("an alias")
    else:
        return value
    return cursor.node(start, exp.Alias(this=value, alias=alias))


def _read_except(cursor: Cursor, start: int, star: exp.Star | exp.Column) -> exp.Expression:
    """Read the columns that `*` or `t.*` leaves out: `* EXCEPT (a, t.b)`."""
    if cursor.is_at("except", "("):
        cursor.advance()
        names = cursor.paren_list(_read_column_name)
        (star if isinstance(star, exp.Star) else star.this).set("except_", names)
    return cursor.node(start, star)


def _read_column_name(cursor: Cursor) -> exp.Column:
    start = cursor.index
    parts = [cursor.identifier("a column name")]
    while cursor.accept("."):
        parts.append(cursor.identifier("a column name", any_word=True))
    names = ("this", "table", "db")
    if len(parts) > len(names):
        raise cursor.syntax_error("a column name")
    return cursor.node(start, exp.Column(**dict(zip(names, reversed(parts), strict=False))))


def _is_at_clause(cursor: Cursor) -> bool:
    token = cursor.current
    if token.kind is not TokenKind.WORD or token.value not in AFTER_EXPRESSION:
        return False
    following = cursor.peek().value
    return following in ("on", "(", "group", "join", "left")


def _read_clauses(cursor: Cursor, select: exp.Select) -> None:
    for _ in _CLAUSE_ORDER:
        start = cursor.index
        if cursor.is_at("where"):
            _check_once(cursor, select, "where", "WHERE")
            cursor.advance()
            select.set("where", cursor.node(start, exp.Where(this=cursor.expression())))
        elif cursor.is_at("group"):
            _check_once(cursor, select, "group", "GROUP BY")
            select.set("group", _read_group_clause(cursor))
        elif cursor.is_at("having"):
            _check_once(cursor, select, "having", "HAVING")
            cursor.advance()
            select.set("having", cursor.node(start, exp.Having(this=cursor.expression())))
        elif cursor.is_at("window"):
            _check_once(cursor, select, "windows", "WINDOW")
            cursor.advance()
            select.set("windows", cursor.comma_list(_read_named_window))
        elif cursor.is_at("for") and cursor.peek().value in ("update", "share"):
            raise NotSupported(
                "E0391",
                "row locks are not needed: readers see a sealed epoch",
                span=cursor.place(cursor.current),
                hint="leave FOR UPDATE out",
            )
        else:
            return


def _check_once(cursor: Cursor, select: exp.Select, key: str, clause: str) -> None:
    if select.args.get(key) is not None:
        raise SqlSyntaxError(
            "E0109",
            f"{clause} is given twice",
            span=cursor.place(cursor.current),
            hint="join the conditions with AND"
            if key in ("where", "having")
            else "keep one of them",
        )
    if key == "where" and select.args.get("group") is not None:
        raise SqlSyntaxError(
            "E0114",
            "WHERE comes before GROUP BY",
            span=cursor.place(cursor.current),
            hint="put WHERE in front of GROUP BY, or write HAVING for conditions on groups",
        )


def _read_named_window(cursor: Cursor) -> exp.Window:
    start = cursor.index
    name = cursor.identifier("a window name")
    cursor.expect("as")
    body = read_window_body(cursor)
    base = body.pop("alias")
    window = exp.Window(this=name, **body)
    if base is not None:
        window.set("alias", base)
    return cursor.node(start, window)


def _read_group_clause(cursor: Cursor) -> exp.Group:
    start = cursor.index
    cursor.expect("group", "by")
    check_not_empty(cursor, "GROUP BY", start)
    return cursor.node(start, exp.Group(expressions=cursor.comma_list(_read_grouping)))


def _read_grouping(cursor: Cursor) -> exp.Expression:
    start = cursor.index
    if cursor.accept("grouping", "sets"):
        sets = cursor.paren_list(_read_grouping)
        return cursor.node(start, exp.GroupingSets(expressions=sets))
    if cursor.is_at_any("rollup", "cube") and cursor.peek().value == "(":
        kind = exp.Rollup if cursor.advance().value == "rollup" else exp.Cube
        return cursor.node(start, kind(expressions=cursor.paren_list(_read_grouping)))
    if cursor.accept("(", ")"):
        return cursor.node(start, exp.Tuple(expressions=[]))
    return cursor.expression()
