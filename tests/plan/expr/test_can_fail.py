"""Which casts may refuse a value: decimals have 38 digits, and what common types cap is lost."""

from __future__ import annotations

import pytest

from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.expressions import Cast, ColumnRef
from floodmark.scalar.types import (
    BIGINT,
    DOUBLE,
    INT,
    VARCHAR,
    SqlType,
    list_of,
    numeric,
    struct_of,
)

SMALL, LONG, FINE = numeric(18, 2), numeric(38, 0), numeric(38, 30)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (INT, FINE),
        (BIGINT, numeric(38, 20)),
        (LONG, numeric(38, 10)),
        (SMALL, numeric(18, 0)),
        (list_of(INT), list_of(FINE)),
        (struct_of(("a", BIGINT)), struct_of(("a", FINE))),
        (BIGINT, INT),
    ],
)
def test_casts_that_can_fail(source: SqlType, target: SqlType) -> None:
    assert can_fail(Cast(target, ColumnRef(source, "a")))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (INT, numeric(38, 28)),
        (BIGINT, numeric(38, 19)),
        (SMALL, numeric(38, 20)),
        (SMALL, DOUBLE),
        (FINE, VARCHAR),
        (list_of(INT), list_of(numeric(38, 28))),
        (struct_of(("a", INT)), struct_of(("a", BIGINT))),
    ],
)
def test_casts_that_cannot(source: SqlType, target: SqlType) -> None:
    assert not can_fail(Cast(target, ColumnRef(source, "a")))
