"""Text to tokens, as PostgreSQL cuts it: exact offsets, nothing dropped but blanks and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from floodmark.errors import Span, SqlSyntaxError
from floodmark.sql.constant_rows import end_of_rows


class TokenKind(Enum):
    """What a token is."""

    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    NUMBER = "number"
    OPERATOR = "operator"
    ROWS = "constant rows"
    END = "end of text"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text; `value` is the folded word, the unquoted string or the operator."""

    kind: TokenKind
    value: str
    start: int
    end: int


# Longest first: the regex takes the first alternative that fits.
_OPERATORS = (
    "!~~*", "!~~", "!~*", "~~*", "->>", "#>>", "::", "->", "#>", "#-", "@>", "<@", "?|", "?&",
    "||", "&&", "<=", ">=", "<>", "!=", "==", "=>", ":=", "!~", "~*", "~~", "<<", ">>",
    *"+-*/%^<>=(),.;[]{}:&|#~?@$!",
)  # fmt: skip
_TOKEN = re.compile(
    r"(?P<blank>[\s\ufeff\u200b]+|--[^\n]*)"
    r"|(?P<comment>/\*)"
    r"|(?P<escaped>[eE]'(?:[^'\\]|''|\\.)*(?P<escaped_end>'?))"
    r"|(?P<string>'(?:[^']|'')*(?P<string_end>'?))"
    r'|(?P<quoted>"(?:[^"]|"")*(?P<quoted_end>"?))'
    r"|(?P<dollar>\$(?:[A-Za-z_]\w*)?\$)"
    r"|(?P<number>(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[^\W\d][\w$]*)"
    rf"|(?P<operator>{'|'.join(re.escape(o) for o in _OPERATORS)})",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-7]{1,3}|.)|''", re.S)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_STRAIGHT = {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "×": "*"}


_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""What UTF-8 has no bytes for, and the zero that PostgreSQL's texts, and paths, cannot have."""
_STRAY_UNDERSCORE = re.compile(r"_(?!\d)")


def tokenize(
    text: str, file: str | None = None, *, start: int = 0, end: int | None = None
) -> list[Token]:
    """Cut the text, or a part of it, into tokens; the last one is of kind END.

    A long list of constant rows behind VALUES is one token.

    >>> [t.value for t in tokenize("SELECT a->>'b' -- c")]
    ['select', 'a', '->>', 'b', '']
    """
    until = len(text) if end is None else end
    if start == 0 and (bad := _UNSTORABLE.search(text, 0, until)) is not None:
        raise _unstorable(text, bad.start(), bad.end(), file)
    tokens = list(_tokens(text, start, until, file))
    tokens.append(Token(TokenKind.END, "", until, until))
    return tokens


def _tokens(text: str, start: int, end: int, file: str | None) -> Iterator[Token]:
    position, values = start, False
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise _stray(text, position, file)
        kind = match.lastgroup if match.lastgroup in _READERS else _group_of(match)
        start, position = position, match.end()
        if kind == "comment":
            position = _skip_comment(text, start, file)
        elif kind == "dollar":
            position = _dollar_end(text, match, file)
            tag = match.end() - start
            yield Token(TokenKind.STRING, text[start + tag : position - tag], start, position)
        elif kind != "blank":
            rows = end_of_rows(text, start) if values and match.group() == "(" else None
            if rows is None:
                yield _token(kind, match, text, file)
            else:
                position = rows
                yield Token(TokenKind.ROWS, "", start, rows)
            values = kind == "word" and match.group().lower() == "values"


_ENCLOSED = frozenset({"escaped", "string", "quoted"})
_READERS = frozenset({"blank", "comment", "dollar", "number", "word", "operator"})


def _group_of(match: re.Match[str]) -> str:
    return next(g for g in ("escaped", "string", "quoted") if match.group(g) is not None)


def _token(kind: str, match: re.Match[str], text: str, file: str | None) -> Token:
    raw, start, end = match.group(), match.start(), match.end()
    if kind in _ENCLOSED and not match.group(f"{kind}_end"):
        what = "name in double quotes" if kind == "quoted" else "string"
        raise _missing_end(what, text, start, end, file)
    match kind:
        case "word":
            return Token(TokenKind.WORD, raw.lower(), start, end)
        case "string":
            return Token(TokenKind.STRING, raw[1:-1].replace("''", "'"), start, end)
        case "escaped":
            value = _unescape(raw[2:-1])
            if _UNSTORABLE.search(value):
                raise _unstorable(text, start, end, file)
            return Token(TokenKind.STRING, value, start, end)
        case "quoted":
            return Token(TokenKind.QUOTED, raw[1:-1].replace('""', '"'), start, end)
        case "number":
            if end < len(text) and (text[end].isalpha() or text[end] == "_"):
                stop = re.compile(r"\w*").match(text, end)
                raise SqlSyntaxError(
                    "E0104",
                    "a letter follows a number",
                    span=Span.at(text, start, stop.end() if stop else end, file),
                    hint="put a blank between them; a name that starts with a digit needs quotes",
                )
            if _STRAY_UNDERSCORE.search(raw):
                raise SqlSyntaxError(
                    "E0104",
                    "an underscore in a number must be between two digits",
                    span=Span.at(text, start, end, file),
                    hint="1_000_000",
                )
            return Token(TokenKind.NUMBER, raw.replace("_", ""), start, end)
        case _:
            return Token(TokenKind.OPERATOR, raw, start, end)


def _unstorable(text: str, start: int, end: int, file: str | None) -> SqlSyntaxError:
    return SqlSyntaxError(
        "E0141",
        "a text cannot have the character zero, half of a surrogate pair, or one beyond U+10FFFF",
        span=Span.at(text, start, end, file),
        hint="leave the character out; bytes are written as bytea: '\\x00'::bytea",
    )


def _unescape(body: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = match.group(1)
        if code is None:
            return "'"
        if code[0] in "xuU" and len(code) > 1:
            point = int(code[1:], 16)
            return chr(point if point < 0x110000 else 0)
        if code[0] in "01234567":
            return chr(int(code, 8))
        return _ESCAPES.get(code, code)

    text = _ESCAPE.sub(one, body)
    # Two halves beside one another are a character.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _skip_comment(text: str, start: int, file: str | None) -> int:
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    raise _missing_end("comment", text, start, len(text), file)


def _dollar_end(text: str, opening: re.Match[str], file: str | None) -> int:
    tag = opening.group()
    number = text.find(tag, opening.end())
    if number < 0:
        raise _missing_end(f"string {tag}", text, opening.start(), opening.end(), file)
    return number + len(tag)


def _missing_end(what: str, text: str, start: int, end: int, file: str | None) -> SqlSyntaxError:
    line_end = text.find("\n", start, end)
    return SqlSyntaxError(
        "E0102",
        f"unterminated {what}",
        span=Span.at(text, start, line_end if line_end > 0 else end, file),
        hint=f"the {what} starts here and has no end",
    )


def _stray(text: str, position: int, file: str | None) -> SqlSyntaxError:
    character = text[position]
    straight = _STRAIGHT.get(character)
    hint = f"write {straight}" if straight else "remove it, or put the name in double quotes"
    return SqlSyntaxError(
        "E0103",
        f"the character {character!r} is not SQL",
        span=Span.at(text, position, position + 1, file),
        hint=hint,
    )
