"""How large a query is: what its frame sends, counted on the client."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WORD = re.compile(r"\w+")


def words(text: str) -> int:
    """Return how many names, functions, keywords and literals a Spark text has.

    The expression that Spark makes of it has about as many nodes.

    >>> words("CASE WHEN `a` + 1 > 0 THEN coalesce(`b`, 'x') END")
    10
    """
    return sum(1 for _ in _WORD.finditer(text))


@dataclass
class PlanSizes:
    """Sizes of frames in nodes: relations, and words of their expressions.

    A frame that occurs twice below another one counts twice, as it is sent. Frames are counted on
    top of those below, so that counting all frames of an epoch costs no more than sending them.
    """

    _known: dict[int, tuple[Any, int]] = field(default_factory=dict)

    def size_of(self, frame: DataFrame) -> int:
        """Return the size of what a frame of a Connect session sends."""
        return self._plan(getattr(frame, "_plan"))  # noqa: B009

    def _plan(self, plan: Any) -> int:
        if id(plan) not in self._known:
            size = 1 + sum(self._part(value) for value in vars(plan).values())
            self._known[id(plan)] = (plan, size)  # The plan is kept, and so is its id.
        return self._known[id(plan)][1]

    def _part(self, value: Any) -> int:
        from pyspark.sql.connect.column import Column
        from pyspark.sql.connect.expressions import Expression
        from pyspark.sql.connect.plan import LogicalPlan

        match value:
            case LogicalPlan():
                return self._plan(value)
            case Column():
                return self._part(value._expr)
            case Expression():
                return _expression(value)
            case Mapping() | str() | bytes():
                return 0
            case Sequence():
                return sum(map(self._part, value))
            case _:
                return 0


def _expression(value: Any) -> int:
    """Return the size of an expression: it, those below, and the words of its texts."""
    from pyspark.sql.connect.expressions import Expression

    match value:
        case Expression():
            return 1 + sum(map(_expression, vars(value).values()))
        case str():
            return words(value)
        case list() | tuple():
            return sum(map(_expression, value))
        case _:
            return 0
