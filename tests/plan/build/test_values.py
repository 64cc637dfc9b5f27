"""VALUES of an INSERT: each value is cast to its column, whatever stands in other rows."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from floodmark.errors import FloodmarkError
from floodmark.plan.build.builder import build_query
from floodmark.reference.interpreter import evaluate
from floodmark.scalar.types import BIGINT, DOUBLE, INT, VARCHAR, SqlType, list_of, numeric
from floodmark.sql.parse import parse_statement
from floodmark.sql.statements import Select

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def rows_of(text: str, *types: SqlType) -> list[tuple[Any, ...]]:
    statement = parse_statement(text)
    assert isinstance(statement, Select)
    node = build_query(statement.query, {}, statement.span, given=types)
    return [tuple(row.values())[:-1] for row in evaluate(node, {}, NOW)]


def test_a_text_beside_numbers_is_cast_to_the_column() -> None:
    found = rows_of("VALUES (1, 'NaN'), (2, 0.0), (3, '-Infinity'), (4, NULL)", INT, DOUBLE)
    assert math.isnan(found[0][1])
    assert found[1:] == [(2, 0.0), (3, -math.inf), (4, None)]
    assert rows_of("VALUES ('0.55'), (0.1)", DOUBLE) == [(0.55,), (0.1,)]
    assert rows_of("VALUES ('12.555'), (1)", numeric(10, 2)) == [(Decimal("12.56"),), (Decimal(1),)]
    assert rows_of("VALUES ('{1,2}'), (NULL)", list_of(BIGINT)) == [((1, 2),), (None,)]


def test_values_of_one_column_need_no_common_type() -> None:
    assert rows_of("VALUES (1), ('a'), (true)", VARCHAR) == [("1",), ("a",), ("true",)]


def test_a_text_that_is_no_value_of_its_column_is_refused_at_its_place() -> None:
    with pytest.raises(FloodmarkError) as caught:
        rows_of("VALUES (1, 2), (2, 'some')", INT, INT)
    assert caught.value.code == "E0258"
    assert caught.value.span is not None
    assert caught.value.span.start == len("VALUES (1, 2), (2, ")
