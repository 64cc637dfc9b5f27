"""What a plan asks, before anything is computed: most of what is Spark's is seen there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from sqlglot import exp

from floodmark.limits import LIMITS
from floodmark.spark.in_process.aggregates import CALLS, is_try_sum
from floodmark.spark.in_process.evaluation import is_known
from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.spark.in_process.query import RELATIONS
from floodmark.spark.in_process.texts import ParsedText, once_per_text, parse
from floodmark.spark.in_process.windows.calls import SYNTAX

_SYNTAX = frozenset((
    *CALLS, *SYNTAX, exp.Filter, exp.Where, exp.Star, exp.Explode, exp.Inline, exp.Order,
    exp.Ordered, exp.Lambda, exp.PropertyEQ, exp.DataType, exp.DataTypeParam, exp.ColumnDef,
    exp.ColumnConstraint, exp.NotNullColumnConstraint, exp.TimeStrToTime, exp.Var, exp.Interval,
    exp.IntervalSpan, exp.TsOrDsToDate, exp.RegexpExtractAll, exp.VarMap,
))  # fmt: skip
"""What stands around expressions that are computed."""


class Attempts:
    """How often shapes of queries failed in a row: values of their rows are left to Spark.

    They are tried again after 1, 2, 4, 8 and so on of their queries.
    """

    def __init__(self) -> None:
        self._failed: Counter[int] = Counter()

    def refuse_failed(self, shape: int) -> None:
        """Raise `UnsupportedQuery` for what was tried in vain, unless it is to be tried again."""
        failed = self._failed[shape]
        if failed & (failed - 1):
            raise UnsupportedQuery("what was tried in vain")

    def note(self, shape: int, *, done: bool) -> None:
        """Say whether a query of a shape was computed."""
        if done or len(self._failed) > LIMITS.in_process_texts:
            self._failed.pop(shape, None)
        else:
            self._failed[shape] += 1


def shape_of(plan: Any) -> int:
    """Return what plans have in common that differ in numbers alone.

    `UnsupportedQuery` for one with a relation or an expression that is not computed here.
    """
    return hash(tuple(_pieces(plan)))


def _pieces(message: Any) -> Iterator[str]:
    kind = message.DESCRIPTOR.name
    if kind == "Relation":
        relation = message.WhichOneof("rel_type")
        if relation not in RELATIONS:
            raise UnsupportedQuery(f"the relation {relation}")
        yield relation
    elif kind == "ExpressionString":
        yield _check(message.expression)
    elif kind == "DataSource":
        yield message.schema
        return
    for field, value in message.ListFields():
        if _has_parts(field):
            for part in value if field.is_repeated else (value,):
                yield from _pieces(part)


@cache
def _has_parts(field: Any) -> bool:
    kind = field.message_type
    return not (kind is None or kind.GetOptions().map_entry)


@once_per_text
def _check(text: str) -> str:
    """Return an expression without its numbers; `UnsupportedQuery` for one of Spark's."""
    parsed = parse(text)
    for node in _nodes(parsed):
        if not (is_known(node) or type(node) in _SYNTAX or is_try_sum(node)):
            raise UnsupportedQuery(f"the expression {type(node).__name__} {node.name}")
    return re.sub(r"\d+", "", text)


def _nodes(parsed: ParsedText) -> Iterator[exp.Expression]:
    for tree in (parsed.node, *parsed.windows):
        for node in tree.walk():
            if not isinstance(node, exp.Window):
                yield node
