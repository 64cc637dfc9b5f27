"""Variance and standard deviation: two passes in ascending order, so that layout does not matter."""  # noqa: E501

from __future__ import annotations

import math
from typing import Any

from floodmark.scalar.functions.model import AggregateFunction, SetRows, Types
from floodmark.scalar.types import DOUBLE, Kind, SqlType

MEMBERS = {
    "variance": (True, False),
    "var_samp": (True, False),
    "var_pop": (False, False),
    "stddev": (True, True),
    "stddev_samp": (True, True),
    "stddev_pop": (False, True),
}
"""The family; the first flag is for samples, the second takes the root."""


def present(rows: SetRows) -> list[Any]:
    """Return the first arguments that are not NULL."""
    return [row[0] for row in rows if row[0] is not None]


def variances() -> list[AggregateFunction]:
    """Return the family for doubles."""
    return [_variance_of(name, *flags) for name, flags in MEMBERS.items()]


def _variance_of(name: str, sample: bool, root: bool) -> AggregateFunction:
    least = 1 if sample else 0

    def python(rows: SetRows, _: Types, __: SqlType) -> float | None:
        values = present(rows)
        if len(values) <= least:
            return None
        spread = two_passes(values, least)
        return math.sqrt(spread) if root else spread

    return AggregateFunction(name, (Kind.DOUBLE,), DOUBLE, print_passes(least, root), python)


def two_passes(numbers: list[Any], least: int) -> float:
    """Return the variance of more than `least` numbers: squares over their count less `least`."""
    values = sorted(float(v) for v in numbers)
    mean = math.nan if not math.isfinite(sum(values)) else _sequential_sum(values) / len(values)
    return _sequential_sum([(v - mean) * (v - mean) for v in values]) / (len(values) - least)


def print_passes(least: int, root: bool) -> str:
    """Return the Spark text of `two_passes` over a set, of its root with `root`."""
    list_ = "array_sort(collect_list({distinct}CAST({0} AS DOUBLE)){filter})"
    total = "aggregate(l, 0D, (a, v) -> a + v)"
    spread = f"aggregate(transform(l, v -> (v - m) * (v - m)), 0D, (a, v) -> a + v) / (size(l) - {least})"  # noqa: E501
    mean = f"{total} / size(l)"
    inner = f"CASE WHEN size(l) > {least} THEN transform(array({mean}), m -> {spread})[0] END"
    value = f"transform(array({list_}), l -> {inner})[0]"
    return f"sqrt({value})" if root else value


def _sequential_sum(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total
