"""Texts that become times: more than six decimals are rounded, a zone may stand behind a day."""

import pytest

from floodmark.scalar.casts import from_text
from floodmark.scalar.functions.model import RowError
from floodmark.scalar.types import DATE, TIME, TIMESTAMP, TIMESTAMPTZ, SqlType

DAY = "2024-01-01"


@pytest.mark.parametrize(
    ("text", "type_", "said"),
    [
        (f"{DAY} 00:00:00.9999999", TIMESTAMP, f"{DAY} 00:00:01"),
        (f"{DAY} 23:59:59.9999995", TIMESTAMP, "2024-01-02 00:00:00"),
        (f"{DAY} 00:00:00.0000005", TIMESTAMP, f"{DAY} 00:00:00"),
        (f"{DAY} 00:00:00.0000015", TIMESTAMP, f"{DAY} 00:00:00.000002"),
        (f"{DAY} 00:00:00.9999999+02", TIMESTAMPTZ, "2023-12-31 22:00:01+00:00"),
        ("9999-12-31 23:59:59.9999999+05", TIMESTAMPTZ, "9999-12-31 19:00:00+00:00"),
        ("9999-12-31 23:59:59.9999999", TIMESTAMP, None),
        ("9999-12-31 23:59:59.9999999", TIMESTAMPTZ, None),
        ("9999-12-31 23:59:59.9999999", DATE, "9999-12-31"),
        ("00:00:00.9999999", TIME, "1000000"),
        ("23:59:59.9999999", TIME, None),
        ("0001-01-01+00", TIMESTAMPTZ, "0001-01-01 00:00:00+00:00"),
        (f"{DAY} +05:30", TIMESTAMPTZ, "2023-12-31 18:30:00+00:00"),
        (f"{DAY} -0530", TIMESTAMPTZ, f"{DAY} 05:30:00+00:00"),
        (f"{DAY}Z", TIMESTAMPTZ, f"{DAY} 00:00:00+00:00"),
        (f" {DAY} UTC ", TIMESTAMP, f"{DAY} 00:00:00"),
        (f"{DAY}-05", TIMESTAMPTZ, None),
        (f"{DAY}+99", TIMESTAMPTZ, None),
        ("0001-01-01+05", TIMESTAMPTZ, None),
    ],
)
def test_a_text_is_the_time_that_it_is_in_postgresql(
    text: str, type_: SqlType, said: str | None
) -> None:
    if said is None:
        with pytest.raises(RowError):
            from_text(text, type_)
    else:
        assert str(from_text(text, type_)) == said
