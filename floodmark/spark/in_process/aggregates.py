"""Aggregates of groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process.evaluation import is_true, path_of, truth_by_row, values_of
from floodmark.spark.in_process.frame import LazyColumn, LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.groups import codes_of, first_places
from floodmark.spark.in_process.sorting import SortColumn, has_extremes, sort_places
from floodmark.spark.in_process.sums import greatest_of, sum_type
from floodmark.spark.in_process.texts import once_per_text, parse, split

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

CALLS = (
    exp.Sum,
    exp.Count,
    exp.CountIf,
    exp.Min,
    exp.Max,
    exp.First,
    exp.ArgMax,
    exp.ArgMin,
    exp.LogicalOr,
    exp.LogicalAnd,
)
"""The aggregates that are computed here."""
TRY_SUM = "try_sum"
"""One more, which the parser does not know. Sums that are out of range are Spark's anyway."""
_CALL = "__call"


@dataclass(frozen=True)
class Groups:
    """Rows in groups: the group of each row, and how many groups there are."""

    rows: LazyFrame
    codes: np.ndarray[Any, Any]
    count: int


def aggregate(
    rows: LazyFrame, keys: Sequence[tuple[str, exp.Expression]], calls: Sequence[tuple[str, str]]
) -> LazyFrame:
    """Return a row per group: its keys, and the values of texts with aggregates, by name.

    Without keys there is one group, even of no rows. Beside aggregates a text may have keys, by the
    names that they have among the rows.
    """
    groups, first = _group(rows, [node for _, node in keys])
    found = [LazyColumn(name, values_of, node, rows).take(first) for name, node in keys]
    grouped = LazyFrame(
        groups.count, [c for c, key in zip(found, keys, strict=True) if _is_plain(*key)]
    )
    values = [LazyColumn(name, _value, text, groups, grouped) for name, text in calls]
    return LazyFrame(groups.count, [*found, *values])


def _is_plain(name: str, key: exp.Expression) -> bool:
    """Tell whether a key is the column of its name."""
    return isinstance(key, exp.Column) and path_of(key) == [name]


def distinct(rows: LazyFrame) -> LazyFrame:
    """Return each row once."""
    columns = rows.visible
    codes, count = codes_of([c.values for c in columns], rows.rows)
    return LazyFrame(rows.rows, columns).take(first_places(codes, count))


def _group(rows: LazyFrame, keys: Sequence[exp.Expression]) -> tuple[Groups, pa.Array]:
    codes, count = codes_of([values_of(node, rows) for node in keys], rows.rows)
    first = first_places(codes, count)
    return Groups(rows, codes, count if keys else 1), first


@once_per_text
def _split(text: str) -> tuple[exp.Expression, tuple[exp.Expression, ...]]:
    """Return an expression of the values of aggregates, `__call0` and so on, and those."""
    return split(parse(text).node, _is_call, _CALL)


def _is_call(node: exp.Expression) -> bool:
    inner = node.this if isinstance(node, exp.Filter) else node
    return isinstance(inner, CALLS) or is_try_sum(inner)


def is_try_sum(node: exp.Expression) -> bool:
    """Tell whether an expression is `try_sum` of something."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == TRY_SUM


def argument_of(node: exp.Expression) -> exp.Expression:
    """Return what is aggregated, which is one value."""
    values = node.expressions if is_try_sum(node) else (node.this, *node.expressions)
    if len(values) != 1 or node.args.get("count") is not None:
        raise UnsupportedQuery("an aggregate of several arguments")
    found: exp.Expression = values[0]
    return found


def _value(text: str, groups: Groups, grouped: LazyFrame) -> pa.Array:
    outer, calls = _split(text)
    frame = grouped
    for i, call in enumerate(calls):
        frame = frame.bind(f"{_CALL}{i}", _call(call, groups))
    return values_of(outer, frame)


def _call(node: exp.Expression, groups: Groups) -> pa.Array:
    """Return the value of an aggregate for each group."""
    import pyarrow as pa

    rows, kept = groups.rows, None
    if isinstance(node, exp.Filter):
        kept = truth_by_row(node.expression.this, rows)
        node = node.this
    argument = argument_of(node)
    if isinstance(argument, exp.Star):
        values = pa.repeat(pa.scalar(1, pa.int32()), rows.rows)
    else:
        values = values_of(argument, rows)
    match node:
        case exp.First():
            return _first(values, kept, groups)
        case exp.ArgMax() | exp.ArgMin():
            return _value_at(node, values, kept, groups)
        case exp.LogicalOr() | exp.LogicalAnd():
            how = "any" if isinstance(node, exp.LogicalOr) else "all"
            if not pa.types.is_boolean(values.type):
                raise UnsupportedQuery(f"the truth of {values.type}")
            return _group_values(how, _null_unless(values, kept), groups)
        case exp.CountIf():
            held = _null_unless(values, is_true(values))
            return pa.array(_count(_null_unless(held, kept), groups))
        case exp.Count():
            return pa.array(_count(_null_unless(values, kept), groups))
        case exp.Sum() | exp.Anonymous():
            return _sum(_null_unless(values, kept), groups)
        case _:
            if not has_extremes(values.type):
                raise UnsupportedQuery(f"the extreme of {values.type}")
            how = "min" if isinstance(node, exp.Min) else "max"
            return _group_values(how, _null_unless(values, kept), groups)


def _null_unless(values: pa.Array, kept: pa.Array | None) -> pa.Array:
    """Return values, NULL where they are not kept."""
    import pyarrow as pa
    from pyarrow import compute as pc

    return values if kept is None else pc.if_else(kept, values, pa.scalar(None, values.type))


def _first(values: pa.Array, kept: pa.Array | None, groups: Groups) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    places = _null_unless(pa.array(np.arange(groups.rows.rows)), kept)
    return values.take(_group_values("min", places, groups))


def _value_at(
    node: exp.ArgMax | exp.ArgMin, values: pa.Array, kept: pa.Array | None, groups: Groups
) -> pa.Array:
    """Return the value of the row that is the highest, or the lowest, by another expression."""
    import numpy as np
    import pyarrow as pa

    by = _null_unless(values_of(node.expression, groups.rows), kept)
    if by.null_count:
        raise UnsupportedQuery("the extreme of NULL")
    # Of rows that are alike Spark takes the last one, for both functions.
    order = sort_places([SortColumn(by, descending=isinstance(node, exp.ArgMin))])
    places = np.empty(len(by), dtype=np.int64)
    places[order] = np.arange(len(by))
    best = _group_values("max", pa.array(places), groups)
    return values.take(pa.array(order).take(best))


def _sum(values: pa.Array, groups: Groups) -> pa.Array:
    import pyarrow as pa
    from pyarrow import compute as pc

    target = sum_type(values)
    if pa.types.is_integer(values.type) and greatest_of(values) * len(values) < _EXACT:
        return _sum_small(values, groups)
    return pc.cast(_group_values("sum", values, groups), target)


_EXACT = 2**53
"""Up to here a double is exact, which is what numpy counts weights with."""


def _sum_small(values: pa.Array, groups: Groups) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    weights = np.asarray(values.fill_null(0), dtype=np.float64)
    sums = np.bincount(groups.codes, weights, minlength=groups.count).astype(np.int64)
    return pa.array(sums, mask=_count(values, groups) == 0)


def _count(values: pa.Array, groups: Groups) -> np.ndarray[Any, Any]:
    """Return how many values each group has that are not NULL."""
    import numpy as np

    codes = groups.codes[np.asarray(values.is_valid())] if values.null_count else groups.codes
    return np.bincount(codes, minlength=groups.count)


def _group_values(how: str, values: pa.Array, groups: Groups) -> pa.Array:
    """Return the value of each group by one of Arrow's functions."""
    import pyarrow as pa

    if not groups.rows.rows:
        return pa.nulls(groups.count, values.type)
    table = pa.table({"g": pa.array(groups.codes), "v": values})
    found = table.group_by("g", use_threads=False).aggregate([("v", how)])
    # Groups come in the order of their first rows, which is that of their numbers.
    return found.column(f"v_{how}").combine_chunks()
