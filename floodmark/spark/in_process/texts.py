"""The Spark SQL of expressions, parsed once for each text."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, TypeVar

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from floodmark.limits import LIMITS
from floodmark.spark.in_process.frame import UnsupportedQuery

WINDOW = "__window"
_TRUNCATION = re.compile(r"\bdate_trunc\s*\(\s*'\w{3,}'", re.IGNORECASE)
"""The parser takes `D` for `DAY` and so on, which are no units of Spark."""
T = TypeVar("T")


def once_per_text(function: Callable[[str], T]) -> Callable[[str], T]:
    """Keep what a function of a text returns, or why it refuses it, of the last ones.

    A tree has a hundred bytes and more for each character of its text, so characters are counted.
    """
    known: OrderedDict[str, Callable[[], T]] = OrderedDict()
    lock, held = threading.Lock(), 0

    @wraps(function)
    def ask(text: str) -> T:
        nonlocal held
        with lock:
            answer = known.get(text)
            if answer is not None:
                known.move_to_end(text)
        if answer is None:
            answer = _answer(function, text)
            with lock:
                held += 0 if text in known else len(text)
                known[text] = answer
                while held > LIMITS.in_process_texts:
                    held -= len(known.popitem(last=False)[0])
        return answer()

    return ask


def _answer(function: Callable[[str], T], text: str) -> Callable[[], T]:
    try:
        value = function(text)
    except UnsupportedQuery as error:
        reason = str(error)

        def refuse() -> T:
            raise UnsupportedQuery(reason)

        return refuse
    return lambda: value


class ParsedText(NamedTuple):
    """An expression as a tree, which nobody may change, and the name that it is given.

    Its window functions are apart: where they stood the tree has columns, `__window0` and so on.
    """

    name: str | None
    node: exp.Expression
    windows: tuple[exp.Expression, ...] = ()


@once_per_text
def parse(text: str) -> ParsedText:
    """Return an expression that is given as text."""
    if len(text) > LIMITS.in_process_characters:
        # To parse it would take longer than Spark takes for the query.
        raise UnsupportedQuery(f"{len(text)} characters")
    try:
        tree = parse_one(text, dialect="spark")
    except (SqlglotError, RecursionError) as error:
        raise UnsupportedQuery(str(error)) from error
    if tree.find(exp.TimeToStr) and any("Y" in part for part in re.findall("'[^']*'", text)):
        # The tree has years of weeks as if they were years.
        raise UnsupportedQuery("years of weeks")
    if len(list(tree.find_all(exp.TimestampTrunc))) != len(_TRUNCATION.findall(text)):
        raise UnsupportedQuery("a unit in other words")
    node, windows = split(tree, lambda part: isinstance(part, exp.Window), WINDOW)
    if isinstance(node, exp.Alias):
        return ParsedText(node.alias, node.this, windows)
    return ParsedText(None, node, windows)


def split(
    node: exp.Expression, is_apart: Callable[[exp.Expression], bool], prefix: str
) -> tuple[exp.Expression, tuple[exp.Expression, ...]]:
    """Return an expression of columns, `prefix0` and so on, and the parts that they stand for."""
    parts: list[exp.Expression] = []

    def name(part: exp.Expression) -> exp.Expression:
        if not is_apart(part):
            return part
        parts.append(part)
        return exp.column(f"{prefix}{len(parts) - 1}")

    return node.copy().transform(name, copy=False), tuple(parts)
