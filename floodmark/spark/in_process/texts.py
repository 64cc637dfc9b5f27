"""The Spark SQL of expressions, parsed once for each text."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from floodmark.limits import LIMITS
from floodmark.spark.in_process.frame import UnsupportedQuery

WINDOW = "__window"
once_per_text = lru_cache(LIMITS.in_process_texts)
"""Keeps what a function of a text returns."""


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
