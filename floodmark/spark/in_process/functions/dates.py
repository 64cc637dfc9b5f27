"""Parts of dates and times: years, hours and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process.evaluation import Family, evaluate
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.types import cast

if TYPE_CHECKING:
    from floodmark.spark.in_process.evaluation import Kind
    from floodmark.spark.in_process.frame import Values

FAMILY = Family()

_OF_TIMES: dict[Kind, str] = {exp.Hour: "hour", exp.Minute: "minute", exp.Second: "second"}
_OF_DATES: dict[Kind, str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfYear: "day_of_year",
    exp.WeekOfYear: "iso_week",
    "weekday": "day_of_week",
}
"""The names of Arrow's functions; that of weekdays goes up from Monday, which is 0, in both."""


def _part(how: str, *, dates: bool) -> Callable[[Any, LazyFrame], Values]:
    def compute(node: exp.Expression, frame: LazyFrame) -> Values:
        import pyarrow as pa
        from pyarrow import compute as pc

        return pc.cast(getattr(pc, how)(_read(node, frame, dates=dates)), pa.int32())

    return compute


for _kind, _how in _OF_TIMES.items():
    FAMILY.computes(_kind)(_part(_how, dates=False))
for _kind, _how in _OF_DATES.items():
    FAMILY.computes(_kind)(_part(_how, dates=True))


@FAMILY.computes(exp.DayOfWeek)
def _weekday(node: exp.DayOfWeek, frame: LazyFrame) -> Values:
    """Return the numbers of weekdays, from Sunday, which is 1."""
    import pyarrow as pa
    from pyarrow import compute as pc

    values = _read(node, frame, dates=True)
    return pc.cast(pc.day_of_week(values, count_from_zero=False, week_start=7), pa.int32())


def _read(node: exp.Expression, frame: LazyFrame, *, dates: bool) -> Values:
    """Return what a part is asked of: times, or `dates` too. Sessions are of the zone UTC."""
    import pyarrow as pa

    inner = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
    values = evaluate(inner.this if isinstance(inner, exp.TsOrDsToDate) else inner, frame)
    if pa.types.is_timestamp(values.type):
        return cast(values, pa.timestamp("us"))
    if not (dates and pa.types.is_date32(values.type)):
        raise UnsupportedQuery(f"a part of {values.type}")
    return values
