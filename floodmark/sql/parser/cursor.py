"""A cursor over tokens, with the moves that all readers of statements share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from sqlglot import exp

from floodmark.errors import Span, SqlSyntaxError
from floodmark.limits import LIMITS
from floodmark.sql.lexer import Token, TokenKind, tokenize
from floodmark.sql.parts import Statement
from floodmark.sql.words import RESERVED, keyword_hint, slip_hint

P = ParamSpec("P")
T = TypeVar("T")
_PLAIN = (TokenKind.WORD, TokenKind.OPERATOR)


@dataclass(frozen=True, slots=True)
class Grammar:
    """The rules of the language that contain themselves: a query stands inside an expression.

    The files of the parser form an order, and lower ones read these rules through the cursor.
    """

    expression: Callable[[Cursor], exp.Expression]
    operand: Callable[[Cursor], exp.Expression]
    query: Callable[[Cursor], exp.Expression]
    statement: Callable[[Cursor], Statement]


class Cursor:
    """The tokens of a text, the place of the next one, and the language they are read in."""

    def __init__(
        self,
        text: str,
        file: str | None = None,
        *,
        grammar: Grammar,
        start: int = 0,
        end: int | None = None,
    ) -> None:
        self.text = text
        self.file = file
        self.grammar = grammar
        self.tokens = tokenize(text, file, start=start, end=end)
        self.index = 0
        self._depth = 0

    def expression(self) -> exp.Expression:
        """Read an expression without alias."""
        return self.grammar.expression(self)

    def operand(self) -> exp.Expression:
        """Read an expression that AND and comparisons end, as in BETWEEN and frames."""
        return self.grammar.operand(self)

    def query(self) -> exp.Expression:
        """Read a whole query."""
        return self.grammar.query(self)

    def statement(self) -> Statement:
        """Read a statement up to its semicolon."""
        return self.grammar.statement(self)

    @property
    def current(self) -> Token:
        """Return the next token, not yet taken."""
        return self.tokens[self.index]

    @property
    def previous(self) -> Token:
        """Return the token that was taken last."""
        return self.tokens[max(self.index - 1, 0)]

    def peek(self, ahead: int = 1) -> Token:
        """Return a later token, END beyond the last one."""
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """Take the next token."""
        token = self.current
        if token.kind is not TokenKind.END:
            self.index += 1
        return token

    def is_at(self, *words: str) -> bool:
        """Tell whether exactly these words or operators (lower case) come next."""
        tokens, last = self.tokens, len(self.tokens) - 1
        for ahead, word in enumerate(words, self.index):
            token = tokens[min(ahead, last)]
            if token.value != word or token.kind not in _PLAIN:
                return False
        return True

    def is_at_any(self, *words: str) -> bool:
        """Tell whether one of these words or operators comes next."""
        token = self.current
        return token.value in words and token.kind in _PLAIN

    def is_at_end(self) -> bool:
        """Tell whether the statement is over."""
        return self.current.kind is TokenKind.END or self.is_at(";")

    def accept(self, *words: str) -> bool:
        """Take these words when all of them come next."""
        if not self.is_at(*words):
            return False
        self.index += len(words)
        return True

    def accept_any(self, *words: str) -> str | None:
        """Take one of these words and return it."""
        return self.advance().value if self.is_at_any(*words) else None

    def expect(self, *words: str, hint: str | None = None) -> None:
        """Take these words, or fail saying what was expected."""
        for word in words:
            if not self.accept(word):
                raise self.syntax_error(word.upper(), hint=hint)

    def expect_string(self, what: str) -> str:
        """Take a string literal and return its value."""
        if self.current.kind is not TokenKind.STRING:
            raise self.syntax_error(f"{what} in single quotes")
        return self.advance().value

    def syntax_error(self, expected: str, *, hint: str | None = None) -> SqlSyntaxError:
        """Return the error that something else stands where `expected` should."""
        token = self.current
        found = "the end of the statement" if self.is_at_end() else f'"{self.raw(token)}"'
        return SqlSyntaxError(
            "E0101",
            f"expected {expected}, found {found}",
            span=self.place(token),
            hint=hint or slip_hint(self.previous, token, self.peek()),
        )

    def raw(self, token: Token) -> str:
        """Return a token's text, cut to what fits a message."""
        text = self.text[token.start : token.end]
        return text if len(text) <= 40 else text[:37] + "..."

    def place(self, token: Token) -> Span:
        """Return the span of a token; the end of the text points behind the last token."""
        if token.kind is TokenKind.END and self.index > 0:
            last = self.previous
            return Span.at(self.text, last.end, last.end, self.file)
        return Span.at(self.text, token.start, token.end, self.file)

    def span_from(self, start: int) -> Span:
        """Return the span from the token at index `start` to the last one taken."""
        last = self.tokens[max(self.index - 1, start)]
        return Span.at(self.text, self.tokens[start].start, last.end, self.file)

    def node(self, start: int, expression: T) -> T:
        """Record on a sqlglot node that it reaches from token `start` to the last one taken."""
        assert isinstance(expression, exp.Expr)
        last = self.tokens[max(self.index - 1, start)]
        expression.meta["start"] = self.tokens[start].start
        expression.meta["end"] = last.end - 1
        return expression

    def comma_list(self, item: Callable[[Cursor], T], *, trailing: tuple[str, ...] = ()) -> list[T]:
        """Read items between commas; before one of the words `trailing` a last comma may stand."""
        items = [item(self)]
        while self.accept(","):
            if trailing and (self.is_at_any(*trailing) or self.is_at_end()):
                break
            items.append(item(self))
        return items

    def paren_list(self, item: Callable[[Cursor], T]) -> list[T]:
        """Read `( item, … )` with at least one item."""
        self.expect("(")
        items = self.comma_list(item)
        self.expect(")")
        return items

    def descend(
        self, read: Callable[Concatenate[Cursor, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Read one level deeper; too many levels are the user's error, not a crash."""
        self._depth += 1
        if self._depth > LIMITS.nesting:
            raise SqlSyntaxError(
                "E0111",
                f"more than {LIMITS.nesting} levels of nesting",
                span=self.place(self.current),
                hint="split the query into views or common table expressions",
            )
        try:
            return read(self, *args, **kwargs)
        finally:
            self._depth -= 1

    def split_rows(self) -> None:
        """Let a list of constant rows that comes next be read row by row."""
        token = self.current
        if token.kind is TokenKind.ROWS:
            cut = tokenize(self.text, self.file, start=token.start, end=token.end)
            self.tokens[self.index : self.index + 1] = cut[:-1]

    def identifier(self, what: str = "a name", *, any_word: bool = False) -> exp.Identifier:
        """Take a name; a reserved word counts only with `any_word` (after a dot or AS)."""
        start, token = self.index, self.current
        if token.kind is TokenKind.QUOTED:
            self.advance()
            self._check_quoted(token)
            return self.node(start, exp.Identifier(this=token.value, quoted=True))
        if token.kind is not TokenKind.WORD:
            raise self.syntax_error(what)
        if token.value in RESERVED and not any_word:
            hint = slip_hint(self.previous, token, self.peek())
            raise self.syntax_error(what, hint=hint or keyword_hint(self.raw(token)))
        self.advance()
        return self.node(start, exp.Identifier(this=token.value, quoted=False))

    def name(self, what: str = "a name", *, any_word: bool = False) -> str:
        """Take a name and return its folded text."""
        return str(self.identifier(what, any_word=any_word).this)

    def is_at_name(self) -> bool:
        """Tell whether a name comes next that needs no quotes."""
        token = self.current
        if token.kind is TokenKind.WORD:
            return token.value not in RESERVED
        return token.kind is TokenKind.QUOTED

    def _check_quoted(self, token: Token) -> None:
        if not token.value:
            raise SqlSyntaxError(
                "E0108",
                "a name has no characters",
                span=self.place(token),
                hint="strings have single quotes, names double quotes",
            )
