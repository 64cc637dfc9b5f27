"""What the reference says to an expression, and whether PostgreSQL says the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from floodmark.errors import FloodmarkError, Span
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import SchemaScope
from floodmark.plan.build.builder import build_query
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.rules import RULES
from floodmark.reference.interpreter import evaluate as rows_of
from floodmark.reference.moment import DeadLetter
from floodmark.scalar.functions import RowErrorCode
from floodmark.scalar.rendering import value_text
from floodmark.scalar.types import Kind, SqlType, leaf
from floodmark.sql.parse import parse_expression, parse_statement
from floodmark.sql.statements import Select
from floodmark.stream.passes.keep_keys import keep_keys
from tests.postgres.cluster import Answer
from tests.postgres.generation import Tree

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
NO_VALUE = frozenset({"E0257", "E0258", "E0271"})
"""Codes of constants that have no value: to PostgreSQL an error of the expression."""

UNKNOWN = frozenset({"42883", "42725", "42804", "42846", "0A000"})
"""States of what PostgreSQL has no function, operator or cast for: the engine may have more."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the reference makes of an expression; `refused` is the code of what it does not know."""

    value: Any = None
    type: SqlType | None = None
    error: str | None = None
    refused: str | None = None

    @property
    def shown(self) -> str:
        """Return it for a message."""
        if self.refused or self.error:
            return f"{self.refused or self.error}"
        return f"{None if self.value is None else text_of(self.value, self.type)} ({self.type})"


@dataclass(frozen=True, slots=True)
class Difference:
    """An expression of which the two say different things, while they agree on what is in it."""

    text: str
    mine: Meaning
    theirs: Answer

    def __str__(self) -> str:
        mine, theirs = self.mine.shown[:300], self.said[:300]
        return f"{self.text}\n    reference  {mine}\n    PostgreSQL {theirs}"

    @property
    def said(self) -> str:
        """Return what PostgreSQL says, for a message."""
        return self.theirs.state or f"{self.theirs.value} ({self.theirs.type})"


def meaning(text: str) -> Meaning:
    """Return what an expression without columns means; a traceback is an error to report.

    One in brackets that begins with SELECT is a query of one column and at most one row.
    """
    try:
        return _of_query(text[1:-1]) if text.startswith("(SELECT ") else _of_expression(text)
    except FloodmarkError as problem:
        if problem.code in NO_VALUE:
            return Meaning(error=problem.code)
        return Meaning(refused=problem.code)


def _of_expression(text: str) -> Meaning:
    bound = bind_scalar(parse_expression(text), SchemaScope(()), BindContext(Span.at(text, 0, 0)))
    value, error = evaluate(bound, {}, NOW)
    if error is not None:
        return Meaning(type=bound.type, error=RowErrorCode(error).text)
    return Meaning(value, bound.type)


def _of_query(text: str) -> Meaning:
    statement, dead = parse_statement(text), list[DeadLetter]()
    assert isinstance(statement, Select)
    plan = build_query(statement.query, {}, statement.span)
    for rule in RULES:
        plan = rule(plan)
    plan = keep_keys(plan)
    rows = rows_of(plan, {}, NOW, dead=dead)
    column = plan.schema[0]
    if dead:
        return Meaning(type=column.type, error=RowErrorCode(dead[0].code).text)
    assert len(rows) < 2, text
    return Meaning(rows[0][column.name] if rows else None, column.type)


def text_of(value: Any, type_: SqlType | None) -> str:
    """Return a value as PostgreSQL prints it, arrays with their braces."""
    assert type_ is not None
    if type_.kind is not Kind.LIST:
        return value_text(value, type_)
    assert type_.element is not None
    return "{" + ",".join(_item(v, type_.element) for v in value) + "}"


def _item(value: Any, type_: SqlType) -> str:
    if value is None:
        return "NULL"
    text = text_of(value, type_)
    if type_.kind is Kind.LIST:
        return text
    if type_.kind is Kind.BOOLEAN:
        return text[0]
    if text == "" or text.upper() == "NULL" or re.search(r'[{},"\\\s]', text):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text


def agree(mine: Meaning, theirs: Answer) -> bool:
    """Tell whether the two say the same."""
    if mine.refused is not None or (theirs.state is not None and theirs.state[:5] in UNKNOWN):
        return True
    if mine.error is not None or theirs.state is not None:
        return mine.error is not None and theirs.state is not None
    if mine.value is None or theirs.value is None:
        return mine.value is None and theirs.value is None
    assert mine.type is not None
    if text_of(mine.value, mine.type) == theirs.value:
        return True
    match mine.type.kind:
        case Kind.NUMERIC:
            return _near(mine.value, theirs.value)
        case Kind.REAL | Kind.DOUBLE:
            return _close(float(mine.value), float(theirs.value), mine.type.kind)
        case Kind.JSONB:
            return _json(str(mine.value)) == _json(theirs.value)
        case Kind.LIST if leaf(mine.type).kind is Kind.NUMERIC:
            return _plain(text_of(mine.value, mine.type)) == _plain(theirs.value)
        case _:
            return False


def _plain(text: str) -> str:
    """Return a text whose numbers have no zeros at their end: elements have one scale."""
    return re.sub(r"\.(\d*?)0+(?=[,}])", lambda m: f".{m[1]}".rstrip("."), text)


def _near(mine: Decimal | int, said: str) -> bool:
    if said in ("NaN", "Infinity", "-Infinity"):
        return False
    mine, theirs = Decimal(mine), Decimal(said)
    digits = min(-int(v.as_tuple().exponent) for v in (mine, theirs))
    return abs(mine - theirs) <= (0 if mine == theirs else Decimal(1).scaleb(-digits))


def _close(mine: float, theirs: float, kind: Kind) -> bool:
    if math.isnan(mine) or math.isnan(theirs):
        return math.isnan(mine) and math.isnan(theirs)
    return mine == theirs or math.isclose(
        mine, theirs, rel_tol=1e-6 if kind is Kind.REAL else 1e-14
    )


def _json(text: str) -> Any:
    import json

    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def differences(
    trees: Iterable[Tree], asked: dict[str, tuple[Meaning, Answer]]
) -> Iterator[Difference]:
    """Yield the innermost expressions of which the two say different things, each once."""
    seen: set[str] = set()
    stack = list(trees)
    while stack:
        tree = stack.pop()
        stack += tree.inner
        mine, theirs = asked[tree.text]
        if tree.text in seen or agree(mine, theirs):
            continue
        seen.add(tree.text)
        if all(_explained(inner, asked) for inner in tree.inner):
            yield Difference(tree.text, mine, theirs)


def _explained(tree: Tree, asked: dict[str, tuple[Meaning, Answer]]) -> bool:
    return agree(*asked[tree.text]) and all(_explained(i, asked) for i in tree.inner)


def texts(trees: Iterable[Tree]) -> list[str]:
    """Return the texts of expressions and of what is in them, each once."""
    found: dict[str, None] = {}
    stack = list(trees)
    while stack:
        tree = stack.pop()
        found[tree.text] = None
        stack += tree.inner
    return list(found)
