"""Patterns of numbers and times mean what they mean in PostgreSQL; its answers stand here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from floodmark.errors import NotSupported, Span
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import SchemaScope
from floodmark.plan.expr.evaluate import evaluate
from floodmark.scalar.rendering import value_text
from floodmark.sql.parse import parse_expression


def _said(text: str) -> Any:
    bound = bind_scalar(parse_expression(text), SchemaScope(()), BindContext(Span.at(text, 0, 0)))
    value, error = evaluate(bound, {}, datetime(2024, 1, 1, tzinfo=UTC))
    return "refused" if error is not None else value and value_text(value, bound.type)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("to_char(0.5::double precision, '99PR')", "  0 "),
        ("to_char(2.675::double precision, '9.99')", " 2.67"),
        ("to_char(0.1::double precision, '9.99999999999999999999PR')", "  .10000000000000 "),
        ("to_char(1e300::double precision, '9.9')", " #."),
        ("to_char('NaN'::double precision, '9,999.99')", "   NaN"),
        ("to_char('-Infinity'::double precision, 'S99999.9')", "-#####.#"),
        ("to_char('-0'::double precision, 'S99.9')", "  -.0"),
        ("to_char(1234567.5::real, '999999999.99')", "   1234568"),
        ("to_char(0, 'FM9.9')", "0."),
        ("to_char(0, '.9')", " .#"),
        ("to_char(0.5, '9.')", " 1"),
        ("to_char(5, '99S9')", "  +5"),
        ("to_char(-5, '9MI9')", " -5"),
        ("to_char(5, '9.9,9')", " 5.0,0"),
        ("to_char(5, '')", ""),
        ("to_number('12-3', '999.0')", "123.0"),
        ("to_number('12.34-', '99.99MI')", "-12.34"),
        ("to_number('<12>', '99PR')", "-12"),
        ("to_number('ä1', 'SG9')", "1"),
        ("to_number('1', '')", None),
        ("to_date('12', 'YYYY-MM-DD HH24:MI:SS.US')", "0012-01-01"),
        ("to_date(' 4.5 ', 'YYYY-MM-DD')", "0004-05-01"),
        ("to_date('2024-00-00', 'YYYY-MM-DD')", "2024-01-01"),
        ("to_timestamp('2024 12:30', 'YYYY HH12:MI')", "2024-01-01 00:30:00+00"),
        ("to_timestamp('2024.0000001', 'YYYY.US')", "2024-01-01 00:00:00.000001+00"),
        ("to_timestamp('2024-02-29 T10', 'YYYY-MM-DD HH24')", "refused"),
        ("to_date('2024-99999999999', 'YYYY-MM')", "refused"),
        ("to_date(repeat('1', 5000), 'YYYY')", "refused"),
        ("to_date('2024-' || repeat('0', 5000) || '7', 'YYYY-MM')", "2024-07-01"),
        ("to_char(TIMESTAMP '2024-02-29', '')", None),
        ("decode('0a 0b', 'hex')", "\\x0a0b"),
    ],
)
def test_a_pattern_means_what_it_means_in_postgresql(expression: str, said: str | None) -> None:
    assert _said(expression) == said


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("to_number('10:20:30', '9.99')", "E0258"),
        ("to_number('{1,2}', 'S')", "E0258"),
        ("to_date('2024 02 Mar', 'YYYY MM Mon')", "E0258"),
        ("to_date('Feb 2024', 'Month YYYY')", "E0258"),
    ],
)
def test_a_text_that_a_pattern_does_not_read_is_refused(expression: str, said: str) -> None:
    # Values that are no literals are refused where they stand.
    text = expression.replace("'", "chr(32) || '", 1) if said == "E0258" else expression
    assert _said(text) == "refused"


@pytest.mark.parametrize("pattern", ["9.9.9", "9S9S", "9PR9", "MI9S", "S9MI", "9EEEE"])
def test_a_pattern_that_postgresql_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(NotSupported) as refused:
        _said(f"to_char(5, '{pattern}')")
    assert refused.value.code == "E0378"


@pytest.mark.parametrize("text", ["0 a0b", "0a\f0b", "0"])
def test_blanks_stand_between_bytes(text: str) -> None:
    assert _said(f"decode('' || '{text}', 'hex')") == "refused"


def test_padding_stands_where_digits_of_base64_are_missing() -> None:
    assert _said("decode('' || 'YWJj=', 'base64')") == "refused"
