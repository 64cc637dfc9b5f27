"""Casts that are said to keep values apart do so: different values have different results."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from floodmark.plan.expr.injective import keeps_apart
from floodmark.scalar.casts import cast_value
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    REAL,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Kind,
    SqlType,
)

_DAY = datetime(2024, 2, 29)
_TIMES = (_DAY, _DAY + timedelta(microseconds=1), _DAY + timedelta(days=1))
_WHOLE = {
    type_: (-limit, -1, 0, limit - 2, limit - 1)
    for type_, limit in ((SMALLINT, 2**15), (INT, 2**31), (BIGINT, 2**63))
}
_NUMERICS = {
    SqlType(Kind.NUMERIC, precision=precision, scale=scale): tuple(
        Decimal(f"{sign}{number}").scaleb(-scale)
        for sign, number in (("", 0), ("", 1), ("-", "9" * precision), ("", "9" * precision))
    )
    for precision, scale in ((4, 0), (5, 2), (7, 2), (12, 2), (19, 0), (23, 4))
}
VALUES = {
    **_WHOLE,
    **_NUMERICS,
    BOOLEAN: (False, True),
    REAL: (-1.5, 0.0, 16_777_215.0, 16_777_216.0),
    DOUBLE: (-1.5, 0.1, 2.0**53 - 1, 2.0**53),
    VARCHAR: ("", " ", "1", "01"),
    DATE: tuple(date(2024, 2, day) for day in (28, 29)),
    TIMESTAMP: _TIMES,
    TIMESTAMPTZ: tuple(time.replace(tzinfo=UTC) for time in _TIMES),
}
PAIRS = [pair for pair in itertools.permutations(VALUES, 2) if keeps_apart(*pair)]


def test_there_are_casts_of_every_kind() -> None:
    assert {source.kind for source, _ in PAIRS} == {type_.kind for type_ in VALUES} - {Kind.VARCHAR}


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=str)
def test_different_values_have_different_results(source: SqlType, target: SqlType) -> None:
    results = [cast_value(value, source, target) for value in VALUES[source]]
    assert len({*results}) == len(results), results
