"""The rows of partitions, one partition after the other, each in its order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.cached import cached_property
from floodmark.spark.in_process.evaluation import values_of
from floodmark.spark.in_process.frame import LazyFrame
from floodmark.spark.in_process.groups import codes_of
from floodmark.spark.in_process.sorting import SortColumn, sort_places, sort_words

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class Partitions:
    """Rows in order: `order` has the row of each place, `starts` and `ends` its partition's."""

    def __init__(self, rows: LazyFrame, codes: Any, keys: Sequence[SortColumn]) -> None:
        import numpy as np
        import pyarrow as pa

        self.rows = rows
        self.keys = keys
        self.order = sort_places([SortColumn(pa.array(codes)), *keys])
        self._codes = codes
        self.starts, self.ends = stretches_of(codes[self.order])
        self.places = np.arange(rows.rows)

    @cached_property
    def peers(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return where the rows begin and end that no key tells from the row of a place."""
        import pyarrow as pa

        codes = pa.array(self._codes)
        words = sort_words([SortColumn(codes), *self.keys])
        if words is None:
            alike, _ = codes_of([codes, *(key.values for key in self.keys)], self.rows.rows)
            words = [alike]
        return stretches_of(*(each[self.order] for each in words))

    def values_in_order(self, node: exp.Expression) -> pa.Array:
        """Return the values of an expression, by place."""
        return self.sort_values(values_of(node, self.rows))

    def sort_values(self, values: pa.Array) -> pa.Array:
        """Return what is of each row by place."""
        import pyarrow as pa

        return values.take(pa.array(self.order))

    def values_of_rows(self, values: pa.Array) -> pa.Array:
        """Return what is of each place by row."""
        return values.take(self._place_of_row)

    @cached_property
    def _place_of_row(self) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        places = np.empty(len(self.order), dtype=np.int64)
        places[self.order] = self.places
        return pa.array(places)


def partitions_of(node: exp.Window, rows: LazyFrame) -> Partitions:
    """Return the partitions of a window; several functions may have one."""
    by = node.args.get("partition_by") or ()
    order = node.args.get("order")
    found: Partitions = rows.remember((*by, order), lambda: _divide(by, order, rows))
    return found


def _divide(
    by: Sequence[exp.Expression], order: exp.Expression | None, rows: LazyFrame
) -> Partitions:
    codes, _ = codes_of([values_of(each, rows) for each in by], rows.rows)
    keys = [_key_of(each, rows) for each in (order.expressions if order is not None else ())]
    return Partitions(rows, codes, keys)


def _key_of(node: exp.Ordered, rows: LazyFrame) -> SortColumn:
    return SortColumn(
        values_of(node.this, rows),
        descending=bool(node.args.get("desc")),
        nulls_first=bool(node.args.get("nulls_first")),
    )


def stretches_of(
    *numbers: np.ndarray[Any, Any],
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return where the stretch of equal numbers that each place is in begins, and ends."""
    import numpy as np

    count = len(numbers[0])
    differs = np.arange(count) == 0
    for each in numbers:
        differs[1:] |= each[1:] != each[:-1]
    begins = np.flatnonzero(differs)
    ends = np.append(begins[1:], count)[: len(begins)]
    return np.repeat(begins, ends - begins), np.repeat(ends, ends - begins)
