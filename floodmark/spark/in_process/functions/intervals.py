"""Times that are moved by intervals of days and less."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process.evaluation import evaluate
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery

if TYPE_CHECKING:
    import pyarrow as pa

    from floodmark.spark.in_process.frame import Values

_TEXT = re.compile(r"(-?)(\d+) (\d\d):(\d\d):(\d\d)\.(\d{6})")


def move_by_interval(
    how: str, otherwise: Callable[[Any, LazyFrame], Values]
) -> Callable[[Any, LazyFrame], Values]:
    """Return how a sum or a difference is computed that may have an interval on its right."""

    def compute(node: exp.Binary, frame: LazyFrame) -> Values:
        import pyarrow as pa
        from pyarrow import compute as pc

        if not isinstance(node.expression, exp.Interval):
            return otherwise(node, frame)
        values = evaluate(node.this, frame)
        if not pa.types.is_timestamp(values.type):
            raise UnsupportedQuery(f"an interval beside {values.type}")
        return getattr(pc, how)(values, _read(node.expression))

    return compute


def _read(node: exp.Interval) -> pa.Scalar:
    import pyarrow as pa

    span = node.args.get("unit")
    written = None
    if isinstance(span, exp.IntervalSpan) and (span.this.name, span.expression.name) == (
        "DAY",
        "SECOND",
    ):
        written = _TEXT.fullmatch(node.this.name)
    if written is None:
        raise UnsupportedQuery(f"the interval {node.sql()}")
    sign, *parts = written.groups()
    days, hours, minutes, seconds, micros = map(int, parts)
    length = timedelta(days, seconds, micros, minutes=minutes, hours=hours)
    return pa.scalar(-length if sign else length, pa.duration("us"))
