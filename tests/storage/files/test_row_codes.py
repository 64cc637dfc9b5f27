"""Rows that are alike get one number, whatever their values are."""

from __future__ import annotations

import random
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

from floodmark.storage.files.row_codes import row_codes

DRAWN = random.Random(5)
VALUES: dict[pa.DataType, tuple[Any, ...]] = {
    pa.int32(): (0, 1, 2, -3),
    pa.int64(): (-(2**63), 2**63 - 1, 0, 7, -1),
    pa.int16(): (-(2**15), 2**15 - 1),
    pa.date32(): (date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)),
    pa.timestamp("us"): (datetime(1, 1, 1), datetime(2024, 2, 29, 1, 2, 3, 4)),
    pa.string(): ("", "a", "ä"),
    pa.bool_(): (True, False),
}


def expected(columns: list[pa.Array], rows: int) -> list[int]:
    """Return numbers in the order in which rows come first, one row after the other."""
    known: dict[Any, int] = {}
    keys = zip(*(c.to_pylist() for c in columns), strict=True) if columns else [()] * rows
    return [known.setdefault(key, len(known)) for key in keys]


@pytest.mark.parametrize("rows", [0, 1, 3, 200])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_rows_that_are_alike(rows: int, count: int) -> None:
    for _ in range(20):
        types = DRAWN.choices(list(VALUES), k=count)
        nulls = DRAWN.choice((0, 0, 1))
        columns = [pa.array(DRAWN.choices((*VALUES[t], *[None] * nulls), k=rows), t) for t in types]
        codes, found = row_codes(columns, rows)
        wanted = expected(columns, rows)
        assert (codes.tolist(), found) == (wanted, len(set(wanted)))


def test_many_columns_of_many_values() -> None:
    columns = [pa.array(DRAWN.sample(range(10**12), 1000) * 2) for _ in range(9)]
    codes, found = row_codes(columns, 2000)
    assert (codes.tolist(), found) == ([*range(1000)] * 2, 1000)
