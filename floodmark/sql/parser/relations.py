"""What stands in FROM: tables, joins, table functions, window table functions, subqueries."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from floodmark.errors import NotSupported, SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.nodes import WindowTable
from floodmark.sql.parser.calls import read_call
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.lookahead import is_at_query
from floodmark.sql.parser.names import refuse_long_name
from floodmark.sql.words import AFTER_EXPRESSION

_WINDOW_ARGUMENTS = {
    "tumble": ("size", "offset"),
    "hop": ("slide", "size", "offset"),
    "session": ("gap",),
}
_WINDOW_FORMS = {
    "tumble": "TUMBLE(relation, time column, size [, offset])",
    "hop": "HOP(relation, time column, slide, size [, offset])",
    "session": "SESSION(relation, time column, gap [, key …])",
}
_JOIN_STARTS = ("join", "inner", "left", "right", "full", "cross", "natural", "asof")
_OTHER_JOINS = {
    "semi": "write WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "anti": "write WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "positional": "number the rows of both with row_number(), and join on that",
}
_REFUSED = {
    "match_recognize": "MATCH_RECOGNIZE is not available yet",
    "gap_fill": "GAP_FILL is not available yet",
    "tablesample": "TABLESAMPLE would give another result at each epoch",
    "pivot": "PIVOT is not part of this language",
    "unpivot": "UNPIVOT is not part of this language",
}


def _tells_commas(join: exp.Join, relation: exp.Expression) -> bool:
    """Tell whether it matters that a comma before a relation binds weaker than its JOIN.

    It does where rows to the right are padded, and where columns are found by name; a function
    may read what stands before the comma.
    """
    if join.side in ("RIGHT", "FULL"):
        return True
    named = isinstance(relation, exp.Subquery) or isinstance(relation.this, exp.Identifier)
    return named and bool(join.args.get("using") or join.args.get("method") == "NATURAL")


def read_from_list(cursor: Cursor, from_at: int) -> tuple[exp.From, list[exp.Join]]:
    """Read what follows FROM: the first relation and everything joined to it."""
    first = _read_relation(cursor)
    from_ = cursor.node(from_at, exp.From(this=first))
    joins = _read_joins(cursor)
    while True:
        start = cursor.index
        if not cursor.accept(","):
            return from_, joins
        relation_at = cursor.index
        relation = _read_relation(cursor)
        inner = _read_joins(cursor)
        if any(_tells_commas(join, relation) for join in inner):
            relation.set("joins", inner)
            relation = cursor.node(relation_at, exp.Subquery(this=relation))
            inner = []
        joins.append(cursor.node(start, exp.Join(this=relation, kind="CROSS")))
        joins.extend(inner)


def _read_joins(cursor: Cursor) -> list[exp.Join]:
    joins = []
    while _is_at_join(cursor):
        joins.append(_read_join(cursor))
    return joins


def _is_at_join(cursor: Cursor) -> bool:
    if _is_at_other_join(cursor):
        _refuse_join(cursor)
    if cursor.current.kind is not TokenKind.WORD or not cursor.is_at_any(*_JOIN_STARTS):
        return False
    return not cursor.is_at("asof") or cursor.peek().value in ("join", "left", "inner")


def _read_join(cursor: Cursor, *, nested: bool = False) -> exp.Join:
    start = cursor.index
    parts: dict[str, object] = {}
    method = cursor.accept_any("natural", "asof")
    if method is not None:
        parts["method"] = method.upper()
    if method is not None and cursor.is_at("cross"):
        raise cursor.syntax_error("JOIN", hint=f"a join is either CROSS or {method.upper()}")
    kind = cursor.accept_any("inner", "left", "right", "full", "cross")
    if kind in ("left", "right", "full"):
        parts["side"] = kind.upper()
        cursor.accept("outer")
    elif kind is not None:
        parts["kind"] = kind.upper()
    if _is_at_other_join(cursor):
        _refuse_join(cursor)
    cursor.expect("join")
    join = exp.Join(this=_read_relation(cursor), **parts)
    if kind == "cross" or method == "natural":
        # In `a JOIN b CROSS JOIN c ON …` the condition is that of a and b.
        if not nested:
            _refuse_condition(cursor, "CROSS JOIN" if kind == "cross" else "NATURAL JOIN")
    elif cursor.accept("on"):
        join.set("on", cursor.expression())
    elif cursor.accept("using"):
        join.set("using", cursor.paren_list(Cursor.identifier))
    elif _is_at_join(cursor):
        _read_nested_join(cursor, join)
    else:
        if cursor.is_at("for", "system_time"):
            _refuse_lookup(cursor, start)
        raise SqlSyntaxError(
            "E0115",
            "a join has no condition",
            span=cursor.span_from(start),
            hint="add ON condition or USING (columns), or write CROSS JOIN",
        )
    return cursor.node(start, join)


def _refuse_condition(cursor: Cursor, what: str) -> None:
    """Raise for ON and USING behind a join that has no condition of its own."""
    if cursor.is_at("using") or (cursor.is_at("on") and not cursor.is_at("on", "conflict")):
        raise cursor.syntax_error("no condition", hint=f"a {what} has none: write JOIN … ON")


def _read_nested_join(cursor: Cursor, join: exp.Join) -> None:
    """Read `a JOIN b JOIN c ON … ON …`: the inner join belongs to b."""
    join.this.set("joins", [_read_join(cursor, nested=True)])
    if cursor.accept("on"):
        join.set("on", cursor.expression())
    elif cursor.accept("using"):
        join.set("using", cursor.paren_list(Cursor.identifier))
    else:
        raise cursor.syntax_error("ON")


def _read_relation(cursor: Cursor) -> exp.Expression:
    """Read one relation with its alias."""
    return cursor.descend(_read_one_relation)


def _read_one_relation(cursor: Cursor) -> exp.Expression:
    start = cursor.index
    if cursor.accept("lateral"):
        return _read_lateral(cursor, start)
    cursor.accept("only")
    if cursor.is_at("("):
        return _read_alias(cursor, start, _read_parenthesised(cursor, start))
    if cursor.is_at("rows", "from"):
        _refuse(cursor, "ROWS FROM is not part of this language")
    if cursor.accept("table", "("):
        table = _read_function_table(cursor)
        cursor.expect(")")
        return _read_alias(cursor, start, table)
    is_call = cursor.peek().value == "(" and cursor.peek().kind is TokenKind.OPERATOR
    if is_call and cursor.current.kind in (TokenKind.WORD, TokenKind.QUOTED):
        return _read_alias(cursor, start, _read_function_table(cursor))
    return _read_alias(cursor, start, read_named_table(cursor))


def read_named_table(cursor: Cursor) -> exp.Table:
    """Read `[schema.]name` without alias."""
    start = cursor.index
    parts = [cursor.identifier("a table name")]
    while cursor.accept("."):
        parts.append(cursor.identifier("a table name", any_word=True))
    if len(parts) > 2:
        refuse_long_name(cursor, start)
    schema = parts[0] if len(parts) == 2 else None
    return cursor.node(start, exp.Table(this=parts[-1], db=schema))


def _read_parenthesised(cursor: Cursor, start: int) -> exp.Expression:
    if is_at_query(cursor):
        cursor.expect("(")
        query = cursor.query()
        cursor.expect(")")
        return cursor.node(start, exp.Subquery(this=query))
    cursor.expect("(")
    inner = _read_relation(cursor)
    joins = _read_joins(cursor)
    if joins:
        inner.set("joins", joins)
    cursor.expect(")")
    return cursor.node(start, exp.Subquery(this=inner))


def _read_lateral(cursor: Cursor, start: int) -> exp.Expression:
    if cursor.is_at("("):
        cursor.expect("(")
        at = cursor.index - 1
        query = cursor.query()
        cursor.expect(")")
        body: exp.Expression = cursor.node(at, exp.Subquery(this=query))
    else:
        body = _read_function_table(cursor)
    return _read_alias(cursor, start, cursor.node(start, exp.Lateral(this=body)))


def _read_function_table(cursor: Cursor) -> exp.Expression:
    start = cursor.index
    name = cursor.name("a table function")
    if name in _WINDOW_ARGUMENTS:
        return _read_window_table(cursor, start, name)
    if name in _REFUSED:
        cursor.index = start
        _refuse(cursor, _REFUSED[name])
    call = read_call(cursor, start, name)
    table = cursor.node(start, exp.Table(this=call))
    if cursor.accept("with", "ordinality"):
        table.set("ordinality", True)
        cursor.node(start, table)
    return table


def _read_window_table(cursor: Cursor, start: int, kind: str) -> WindowTable:
    cursor.expect("(")
    relation_at = cursor.index
    if cursor.is_at("("):
        relation = _read_parenthesised(cursor, relation_at)
    else:
        cursor.accept("table")
        relation = read_named_table(cursor)
    parts: dict[str, object] = {"kind": kind, "this": relation}
    cursor.expect(",", hint=f"write {_WINDOW_FORMS[kind]}")
    parts["time"] = cursor.expression()
    arguments = []
    while cursor.accept(","):
        arguments.append(cursor.expression())
    cursor.expect(")")
    _set_window_arguments(cursor, start, kind, arguments, parts)
    return cursor.node(start, WindowTable(**parts))


def _set_window_arguments(
    cursor: Cursor, start: int, kind: str, arguments: list[exp.Expression], parts: dict[str, object]
) -> None:
    names = _WINDOW_ARGUMENTS[kind]
    required = len([name for name in names if name != "offset"])
    if len(arguments) < required or (kind != "session" and len(arguments) > len(names)):
        raise SqlSyntaxError(
            "E0117",
            f"{kind.upper()} does not take {len(arguments) + 2} arguments",
            span=cursor.span_from(start),
            hint=f"write {_WINDOW_FORMS[kind]}",
        )
    parts.update(zip(names, arguments, strict=False))
    if kind == "session":
        parts["expressions"] = arguments[1:]


def _read_alias(cursor: Cursor, start: int, relation: exp.Expression) -> exp.Expression:
    if isinstance(relation, exp.Table) and cursor.is_at("for", "system_time"):
        relation.set("version", _read_system_time(cursor))
    word = cursor.current.value if cursor.current.kind is TokenKind.WORD else ""
    if word in _REFUSED and cursor.peek().value in ("(", "bernoulli", "system"):
        _refuse(cursor, _REFUSED[word])
    alias_at = cursor.index
    if cursor.accept("as"):
        name = cursor.identifier("an alias", any_word=True)
    elif cursor.is_at_name() and not _is_at_keyword_after_table(cursor):
        name = cursor.identifier("an alias")
    else:
        return cursor.node(start, relation)
    columns = cursor.paren_list(Cursor.identifier) if cursor.is_at("(") else []
    relation.set("alias", cursor.node(alias_at, exp.TableAlias(this=name, columns=columns)))
    if isinstance(relation, exp.Table) and cursor.is_at("for", "system_time"):
        relation.set("version", _read_system_time(cursor))
    if cursor.current.kind is TokenKind.WORD and cursor.current.value in _REFUSED:
        _refuse(cursor, _REFUSED[cursor.current.value])
    return cursor.node(start, relation)


def _is_at_other_join(cursor: Cursor) -> bool:
    return cursor.is_at_any(*_OTHER_JOINS) and cursor.peek().value == "join"


def _refuse_join(cursor: Cursor) -> NoReturn:
    word = cursor.current.value
    raise NotSupported(
        "E0335",
        f"{word.upper()} JOIN is not available",
        span=cursor.place(cursor.current),
        hint=_OTHER_JOINS[word],
    )


def _is_at_keyword_after_table(cursor: Cursor) -> bool:
    token = cursor.current
    if _is_at_other_join(cursor):
        return True
    if token.kind is not TokenKind.WORD or token.value not in AFTER_EXPRESSION:
        return False
    return token.value in ("set",) or cursor.peek().value in ("on", "join", "left", "inner")


def _read_system_time(cursor: Cursor) -> exp.Version:
    start = cursor.index
    cursor.expect("for", "system_time", "as", "of")
    at = cursor.operand()
    return cursor.node(start, exp.Version(this="SYSTEM_TIME", kind="AS OF", expression=at))


def _refuse_lookup(cursor: Cursor, start: int) -> NoReturn:
    raise SqlSyntaxError(
        "E0115",
        "a lookup join reads a table, not a subquery or a table function",
        span=cursor.span_from(start),
        hint="JOIN t FOR SYSTEM_TIME AS OF PROCTIME() ON a.k = t.k AND …; choose its columns "
        "in SELECT, or look up in a view of it",
    )


def _refuse(cursor: Cursor, message: str) -> NoReturn:
    hint = "write it with joins, window functions or generate_series"
    raise NotSupported("E0392", message, span=cursor.place(cursor.current), hint=hint)
