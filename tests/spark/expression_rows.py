# ruff: noqa: E501
"""Rows with extremes and NULLs, on which expressions are evaluated."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal as D
from typing import Any

from floodmark.scalar.functions.arithmetic import fit_decimal, to_real
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Field,
    Kind,
    numeric,
)

SCHEMA = tuple(
    Field(n, t)
    for n, t in {
        "k": INT, "sm": SMALLINT, "i": INT, "j": INT, "b": BIGINT, "c": BIGINT,
        "n": numeric(18, 2), "m": numeric(9, 4), "w": numeric(), "r": REAL, "d": DOUBLE, "e": DOUBLE,
        "s": VARCHAR, "t": VARCHAR, "p": BOOLEAN, "q": BOOLEAN, "dt": DATE, "ts": TIMESTAMP,
        "us": TIMESTAMP, "tz": TIMESTAMPTZ, "tm": TIME, "iv": INTERVAL, "iw": INTERVAL,
    }.items()
)  # fmt: skip
_TS = datetime(2024, 2, 29, 13, 45, 12, 345678)
_VALUES: list[tuple[Any, ...]] = [
    (17, -5, 3, 10**12, -7, D("12.34"), D("-3.1250"), D("1.0000000001"), 1.5, 0.1, -2.5,
     "Hello, World", "o", True, False, date(2024, 1, 31), _TS, datetime(2023, 12, 25), _TS.replace(tzinfo=UTC),
     45_296_789_000, (1, 2, 3_000_000), (0, 1, -5)),
    (-32768, -(2**31), 0, -(2**63), -1, D("-0.01"), D("0.0000"), D("-9999999999.9999999999"), -0.0, math.nan, 1e300,
     "", " 42 ", False, True, date(1000, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2000, 1, 3),
     datetime(1970, 1, 1, tzinfo=UTC), 0, (0, 0, 0), (-13, -40, -86_400_000_001)),
    (32767, 2**31 - 1, -1, 2**63 - 1, 2, D("9999999999999999.99"), D("99999.9999"), D("9" * 28 + ".9999999999"),
     3.0e38, math.inf, -0.0, "a,b,,c", "12.5e1", True, None, date(9000, 12, 31),
     datetime(9000, 12, 31, 23, 59, 59, 999999), datetime(2024, 12, 30), datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC),
     86_399_999_999, (14, -1, 7_200_000_000), (-1, 0, 0)),
    (0, 0, 2**31 - 1, 0, 0, D("0.00"), D("2.5000"), D("0.5"), 0.1, 2.5, 123456789.125,
     "äöü\\%_'é\n€𝄞", "%o%", None, True, date(2020, 12, 31), datetime(2020, 12, 31, 0, 0), datetime(2021, 1, 1),
     datetime(1900, 3, 1, tzinfo=UTC), 1, (0, 31, 1), (12, 0, 0)),
    (1, 1, 1, 1, 1, D("0.50"), D("1.5000"), D("2.5"), 1e-7, 1e15, 1e-5, "2024-01-02 03:04:05.5", "true", False,
     False, date(2024, 3, 1), datetime(2024, 3, 1, 0, 0, 1), _TS, datetime(2024, 3, 1, tzinfo=UTC), 3_600_000_000,
     (0, -3, 0), (0, 0, 1)),
    (None,) * 22,
    (None, 7, None, 5, None, D("1.50"), None, D("2.5"), None, 2.0, None, "abc", None, True, None, date(2024, 1, 2),
     None, datetime(2023, 5, 6, 7, 8, 9), None, 3_600_000_000, None, (1, 1, 1)),
    (3, None, 2, None, 4, None, D("0.5000"), None, 1.0, None, 3.0, None, "b", None, True, None,
     datetime(2024, 1, 2, 3, 4, 5), None, datetime(2024, 5, 6, tzinfo=UTC), None, (1, 2, 3), None),
]  # fmt: skip


def _stored(value: Any, field: Field) -> Any:
    if value is None:
        return None
    match field.type.kind:
        case Kind.REAL:
            return to_real(value)
        case Kind.NUMERIC:
            return fit_decimal(value, field.type)
        case _:
            return value


ROWS: list[dict[str, Any]] = [
    {f.name: _stored(v, f) for f, v in zip(SCHEMA, (k, *row), strict=True)}
    for k, row in enumerate(_VALUES)
]
"""Values as they are at rest; `k` numbers the rows."""
