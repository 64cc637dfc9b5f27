"""Queries: WITH, set operations, VALUES, ORDER BY and LIMIT."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.nodes import ChangelogOf
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.expressions import read_primary
from floodmark.sql.parser.lookahead import is_at_query
from floodmark.sql.parser.ordering import read_order_clause
from floodmark.sql.parser.relations import read_named_table
from floodmark.sql.parser.select import read_select

_SET_OPERATIONS = {"union": exp.Union, "except": exp.Except, "intersect": exp.Intersect}


def read_query(cursor: Cursor) -> exp.Expression:
    """Read a whole query: WITH, set operations, ORDER BY, LIMIT."""
    start = cursor.index
    with_ = _read_with_clause(cursor)
    query = _read_set_operations(cursor, 0)
    _read_tail(cursor, query)
    if with_ is not None:
        if isinstance(query, exp.Values):
            raise cursor.syntax_error("SELECT behind WITH", hint="write SELECT * FROM (VALUES …)")
        query.set("with_", with_)
    return cursor.node(start, query)


def _read_with_clause(cursor: Cursor) -> exp.With | None:
    start = cursor.index
    if not cursor.accept("with"):
        return None
    recursive = cursor.accept("recursive")
    tables = cursor.comma_list(_read_cte)
    return cursor.node(start, exp.With(expressions=tables, recursive=recursive or None))


def _read_cte(cursor: Cursor) -> exp.CTE:
    start = cursor.index
    alias = cursor.node(
        start, exp.TableAlias(this=cursor.identifier(), columns=_read_columns(cursor))
    )
    cursor.expect("as", hint="write WITH name AS (SELECT …)")
    if cursor.accept("changelog"):
        at = cursor.index
        cursor.expect("from")
        body = cursor.node(at, ChangelogOf(this=read_named_table(cursor)))
        return cursor.node(start, exp.CTE(this=body, alias=alias))
    materialized = True if cursor.accept("materialized") else None
    if cursor.accept("not", "materialized"):
        materialized = False
    cursor.expect("(")
    if not is_at_query(cursor):
        raise cursor.syntax_error("a query")
    query = cursor.descend(Cursor.query)
    cursor.expect(")")
    return cursor.node(start, exp.CTE(this=query, alias=alias, materialized=materialized))


def _read_columns(cursor: Cursor) -> list[exp.Identifier]:
    return cursor.paren_list(Cursor.identifier) if cursor.is_at("(") else []


def _read_set_operations(cursor: Cursor, floor: int) -> exp.Expression:
    start = cursor.index
    left = _read_query_primary(cursor)
    while (word := cursor.current.value) in _SET_OPERATIONS:
        power = 2 if word == "intersect" else 1
        if power <= floor:
            break
        cursor.advance()
        all_ = cursor.accept("all")
        if not all_:
            cursor.accept("distinct")
        right = _read_set_operations(cursor, power)
        operation = _SET_OPERATIONS[word](this=left, expression=right, distinct=not all_)
        left = cursor.node(start, operation)
    return left


def _read_query_primary(cursor: Cursor) -> exp.Expression:
    start = cursor.index
    if cursor.accept("("):
        query = cursor.descend(Cursor.query)
        cursor.expect(")")
        return cursor.node(start, exp.Subquery(this=query))
    if cursor.accept("values"):
        cursor.split_rows()
        rows = cursor.comma_list(_read_row)
        return cursor.node(start, exp.Values(expressions=rows))
    if cursor.is_at("select"):
        return read_select(cursor)
    raise cursor.syntax_error("SELECT", hint="a query starts with SELECT, WITH or VALUES")


def _read_row(cursor: Cursor) -> exp.Tuple:
    start = cursor.index
    cursor.accept("row")
    return cursor.node(start, exp.Tuple(expressions=cursor.paren_list(read_row_item)))


def read_row_item(cursor: Cursor) -> exp.Expression:
    """Read one value of a row of VALUES: an expression, or the word DEFAULT."""
    start, token = cursor.index, cursor.current
    # Most values of long lists are constants: no operator comes near them.
    if token.kind in (TokenKind.NUMBER, TokenKind.STRING) and cursor.peek().value in (",", ")"):
        return read_primary(cursor)
    if cursor.accept("default"):
        return cursor.node(start, exp.Var(this="DEFAULT"))
    return cursor.expression()


def _read_tail(cursor: Cursor, query: exp.Expression) -> None:
    order = read_order_clause(cursor)
    if order is not None:
        query.set("order", order)
    while cursor.is_at_any("limit", "offset", "fetch"):
        start, word = cursor.index, cursor.current.value
        key = "offset" if word == "offset" else "limit"
        if query.args.get(key) is not None:
            raise SqlSyntaxError(
                "E0109",
                f"{word.upper()} is given twice",
                span=cursor.place(cursor.current),
                hint="keep one of them; conditions are joined with AND",
            )
        cursor.advance()
        if word == "limit":
            if not cursor.accept("all"):
                limit = exp.Limit(expression=cursor.expression())
                query.set("limit", cursor.node(start, limit))
        elif word == "offset":
            offset = exp.Offset(expression=cursor.expression())
            cursor.accept_any("rows", "row")
            query.set("offset", cursor.node(start, offset))
        else:
            query.set("limit", _read_fetch(cursor, start))


def _read_fetch(cursor: Cursor, start: int) -> exp.Expression:
    if cursor.accept_any("first", "next") is None:
        raise cursor.syntax_error("FIRST")
    count = exp.Literal.number(1) if cursor.is_at_any("row", "rows") else cursor.expression()
    if cursor.accept_any("rows", "row") is None:
        raise cursor.syntax_error("ROWS")
    if cursor.accept("with", "ties"):
        options = exp.LimitOptions(rows=True, with_ties=True)
        fetch = exp.Fetch(direction="FIRST", count=count, limit_options=options)
        return cursor.node(start, fetch)
    cursor.expect("only")
    return cursor.node(start, exp.Limit(expression=count))
