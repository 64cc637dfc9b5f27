"""Values of each type as functions in Python take and give them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

from floodmark.scalar.functions import RowError, RowErrorCode
from floodmark.scalar.functions.python_values import from_python, to_python
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    JSONB,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    SqlType,
    list_of,
    map_of,
    numeric,
    struct_of,
)

WHEN = datetime(2024, 1, 2, 3, 4, 5)
VALUES: list[tuple[SqlType, Any, Any]] = [
    (BOOLEAN, True, True),
    (BIGINT, 2**62, 2**62),
    (numeric(9, 2), Decimal("1.25"), Decimal("1.25")),
    (DOUBLE, 1.5, 1.5),
    (VARCHAR, "ä", "ä"),
    (BYTEA, b"\x00", b"\x00"),
    (DATE, date(2024, 1, 2), date(2024, 1, 2)),
    (TIME, 3_723_000_004, time(1, 2, 3, 4)),
    (TIMESTAMP, WHEN, WHEN),
    (TIMESTAMPTZ, WHEN.replace(tzinfo=UTC), WHEN.replace(tzinfo=UTC)),
    (INTERVAL, (1, 2, 3), (1, 2, 3)),
    (JSONB, '{"a":[1,null]}', {"a": [1, None]}),
    (UUID, "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000a"),
    (list_of(TIME), (0, None), [time(0), None]),
    (struct_of(("a", INT), ("b", VARCHAR)), (1, None), {"a": 1, "b": None}),
    (map_of(VARCHAR, INT), (("a", 1),), {"a": 1}),
]


@pytest.mark.parametrize(("type_", "engine", "python"), VALUES, ids=lambda v: str(v)[:20])
def test_values_go_to_python_and_back(type_: SqlType, engine: Any, python: Any) -> None:
    assert to_python(engine, type_) == python
    assert from_python(python, type_) == engine
    assert to_python(None, type_) is None and from_python(None, type_) is None


@pytest.mark.parametrize(
    ("value_", "type_"),
    [
        (1, BOOLEAN), (True, INT), (1.0, INT), (2**31, INT), ("1", INT), (1.5, numeric(9, 2)),
        (Decimal(10) ** 9, numeric(9, 2)), ("x", DOUBLE), (1, VARCHAR), ("x", BYTEA),
        (WHEN, DATE), (WHEN, TIMESTAMPTZ), (WHEN.replace(tzinfo=UTC), TIMESTAMP), ("x", UUID),
        (float("nan"), JSONB), ({1, 2}, JSONB), ("ab", list_of(VARCHAR)), ([1, "x"], list_of(INT)),
        ({"z": 1}, struct_of(("a", INT))), ((1, 2), struct_of(("a", INT))), ([1], map_of(INT, INT)),
    ],
)  # fmt: skip
def test_values_of_another_type_are_refused(value_: Any, type_: SqlType) -> None:
    with pytest.raises(RowError) as refused:
        from_python(value_, type_)
    assert refused.value.code is RowErrorCode.WRONG_RESULT


def test_a_timedelta_is_an_interval() -> None:
    assert from_python(timedelta(days=-1, hours=-2), INTERVAL) == (0, -1, -7_200_000_000)
