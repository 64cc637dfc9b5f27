"""Which words cannot be names, and what people mean by frequent slips."""

from __future__ import annotations

from floodmark.sql.lexer import Token, TokenKind

RESERVED = frozenset(
    [
        "all",
        "and",
        "any",
        "array",
        "as",
        "asc",
        "both",
        "case",
        "cast",
        "check",
        "collate",
        "constraint",
        "create",
        "cross",
        "default",
        "desc",
        "distinct",
        "do",
        "else",
        "end",
        "except",
        "false",
        "fetch",
        "for",
        "foreign",
        "from",
        "full",
        "grant",
        "group",
        "having",
        "in",
        "inner",
        "intersect",
        "into",
        "is",
        "isnull",
        "join",
        "lateral",
        "leading",
        "left",
        "like",
        "ilike",
        "limit",
        "natural",
        "not",
        "notnull",
        "null",
        "offset",
        "on",
        "only",
        "or",
        "order",
        "outer",
        "primary",
        "references",
        "returning",
        "right",
        "select",
        "similar",
        "some",
        "symmetric",
        "table",
        "then",
        "to",
        "trailing",
        "true",
        "union",
        "unique",
        "using",
        "when",
        "where",
        "window",
        "with",
    ]
)
"""Words that are names only in double quotes."""

AFTER_EXPRESSION = frozenset({"over", "filter", "within", "emit", "asof", "set"})
"""Words that are aliases only behind AS, as they may start the next clause."""

FIRST_WORDS = (
    "abort", "alter", "begin", "commit", "copy", "create", "delete", "describe", "drop", "end",
    "explain", "flush", "insert", "rollback", "select", "set", "show", "start", "update", "values",
    "with",
)  # fmt: skip
"""Words that start a statement."""

_SLIPS = {
    "selct": "SELECT", "slect": "SELECT", "form": "FROM", "fom": "FROM", "wehre": "WHERE",
    "were": "WHERE", "gruop": "GROUP", "oder": "ORDER", "jion": "JOIN", "vlaues": "VALUES",
    "materialised": "MATERIALIZED", "udpate": "UPDATE", "isnert": "INSERT", "craete": "CREATE",
    "tabel": "TABLE", "veiw": "VIEW", "watermak": "WATERMARK",
}  # fmt: skip


def keyword_hint(word: str) -> str:
    """Say how to use a reserved word as a name."""
    return f'{word.upper()} is a keyword; as a name write "{word.lower()}" in double quotes'


def slip_hint(before: Token, token: Token, following: Token) -> str | None:
    """Guess what was meant where `token` does not fit."""
    if token.kind is TokenKind.WORD and token.value in _SLIPS:
        return f"did you mean {_SLIPS[token.value]}?"
    if before.kind is TokenKind.WORD and before.value in _SLIPS:
        return f"did you mean {_SLIPS[before.value]} instead of {before.value}?"
    match token.value:
        case "," if before.value == ",":
            return "an element is missing between two commas"
        case ")" | "from" | "where" | "group" if before.value == ",":
            return "remove the comma before it"
        case ")":
            return "the parenthesis was not opened, or something before it is missing"
        case "=" | "==" if before.value == "=":
            return "equality is a single ="
        case "`":
            return "names stand in double quotes"
    if token.kind is TokenKind.QUOTED:
        return "strings stand in single quotes, names in double quotes"
    return None
