"""LIKE on Spark says what a matcher says that tries everything, and says it at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from floodmark.errors import BindError
from floodmark.scalar.functions.like import print_like
from floodmark.scalar.functions.model import Operand
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import VARCHAR
from tests.scalar.like_cases import ESCAPES, SLOW, drawn, naive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def constant(text: str) -> Operand:
    return Operand(quote(text), VARCHAR, text)


COLUMNS = Operand("`s`", VARCHAR), Operand("`p`", VARCHAR)


def test_patterns_of_a_column_fit_what_the_naive_matcher_fits(spark: SparkSession) -> None:
    cases = list(drawn(2, 1500))
    rows = ", ".join(
        f"({i}, {quote(s)}, {quote(p)}, {quote(e)})" for i, (s, p, e) in enumerate(cases)
    )
    whens = " ".join(f"WHEN {quote(e)} THEN {print_like(*COLUMNS, e)}" for e in ESCAPES)
    query = f"SELECT CASE e {whens} END FROM VALUES {rows} AS t(i, s, p, e) ORDER BY i"
    found = [row[0] for row in spark.sql(query).collect()]
    wrong = [c for c, said in zip(cases, found, strict=True) if said is not naive(*c)]
    assert not wrong


def test_written_patterns_fit_what_the_naive_matcher_fits(spark: SparkSession) -> None:
    cases, shown = list(drawn(3, 250)), list[str]()
    for text, pattern, escape in cases:
        try:
            shown.append(print_like(Operand(quote(text), VARCHAR), constant(pattern), escape))
        except BindError:
            shown.append("CAST(NULL AS BOOLEAN)")
    (row,) = spark.sql(f"SELECT array({', '.join(shown)})").collect()
    wrong = [c for c, said in zip(cases, row[0], strict=True) if said is not naive(*c)]
    assert not wrong


@pytest.mark.parametrize("fold", [False, True])
def test_many_wildcards_take_no_time(spark: SparkSession, fold: bool) -> None:
    begun = time.monotonic()
    many = ("ab" * 4000, "%a_" * 3000 + "%x")
    for text, pattern in (*SLOW, many):
        written = print_like(COLUMNS[0], constant(pattern), "\\", fold=fold)
        of_column = print_like(*COLUMNS, "\\", fold=fold)
        rows = ", ".join(f"({quote(s)}, {quote(pattern)})" for s in (text, text + pattern[-1]))
        found = spark.sql(f"SELECT {written}, {of_column} FROM VALUES {rows} AS t(s, p)").collect()
        assert [tuple(row) for row in found] == [(False, False), (True, True)]
    assert time.monotonic() - begun < 20
