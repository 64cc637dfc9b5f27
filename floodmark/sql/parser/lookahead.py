"""What comes next, where one token does not tell."""

from __future__ import annotations

from floodmark.errors import SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.cursor import Cursor

_SET_OPERATIONS = ("union", "except", "intersect")
_EMPTY_LIST_HINTS = {
    "SELECT": "name the columns, or write SELECT * FROM …",
    "GROUP BY": "name the grouping columns, or leave GROUP BY out",
    "ORDER BY": "name what to order by, or leave ORDER BY out",
}


def is_at_query(cursor: Cursor, *, enclosed: bool = False) -> bool:
    """Tell whether a query comes next, also behind opening parentheses.

    With `enclosed` the query reaches to a closing parenthesis: `(SELECT 1) + 2)` is none.
    """
    ahead = 0
    while cursor.peek(ahead).value == "(" and cursor.peek(ahead).kind is TokenKind.OPERATOR:
        ahead += 1
    token = cursor.peek(ahead)
    if token.kind is not TokenKind.WORD or token.value not in ("select", "with", "values"):
        return False
    return ahead == 0 or _parentheses_hold_query(cursor, ahead, 0 if enclosed else 1)


def _parentheses_hold_query(cursor: Cursor, opened: int, lowest: int) -> bool:
    """Look behind the innermost query: `((SELECT 1) + 2)` is an expression."""
    depth, ahead = opened, opened
    while depth > 0 and ahead + cursor.index < len(cursor.tokens) - 1:
        token = cursor.peek(ahead)
        if token.kind is TokenKind.OPERATOR:
            depth += {"(": 1, ")": -1}.get(token.value, 0)
            if token.value == ")" and lowest <= depth < opened:
                following = cursor.peek(ahead + 1).value
                if following not in (")", *_SET_OPERATIONS, "order", "limit", "offset"):
                    return False
        ahead += 1
    return True


def check_not_empty(cursor: Cursor, clause: str, start: int) -> None:
    """Raise E0106 where a list has no elements: the next clause or the end comes next."""
    stops = ("from", "where", "group", "having", "order", "limit", ")", "union", "emit")
    if cursor.is_at_end() or cursor.is_at_any(*stops):
        raise SqlSyntaxError(
            "E0106",
            f"{clause} has no elements",
            span=cursor.span_from(start),
            hint=_EMPTY_LIST_HINTS[clause],
        )
