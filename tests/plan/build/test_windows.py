"""What is said of windows and first rows that cannot be; which filters are a top-N."""

from __future__ import annotations

from datetime import datetime

import pytest

from floodmark.errors import FloodmarkError
from floodmark.plan import nodes as n
from floodmark.scalar.time_windows import windows_of
from floodmark.scalar.types import TIMESTAMP, Field
from tests.program_reference import compile_sql

TABLES = "CREATE TABLE t (k INT PRIMARY KEY, g INT, a INT, m NUMERIC(10, 2), at TIMESTAMP, s TEXT);"

REFUSED = {
    "sum(a) OVER (GROUPS 1 PRECEDING)": "E0291",
    "sum(a) OVER (ORDER BY a ROWS BETWEEN CURRENT ROW AND 1 PRECEDING)": "E0291",
    "sum(a) OVER (ORDER BY a ROWS BETWEEN UNBOUNDED FOLLOWING AND 1 FOLLOWING)": "E0291",
    "sum(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND UNBOUNDED PRECEDING)": "E0291",
    "sum(a) OVER (ORDER BY a ROWS 1.5 PRECEDING)": "E0292",
    "sum(a) OVER (ORDER BY a ROWS k PRECEDING)": "E0292",
    "sum(a) OVER (ORDER BY a ROWS 3000000000 PRECEDING)": "E0292",
    "sum(a) OVER (RANGE 1 PRECEDING)": "E0292",
    "sum(a) OVER (ORDER BY a, k RANGE 1 PRECEDING)": "E0292",
    "sum(a) OVER (ORDER BY a RANGE 1.5 PRECEDING)": "E0292",
    "sum(a) OVER (ORDER BY m RANGE 0.125 PRECEDING)": "E0292",
    "sum(a) OVER (ORDER BY at RANGE INTERVAL '-1 day' PRECEDING)": "E0292",
    "sum(a) OVER (ORDER BY s RANGE 1 PRECEDING)": "E0374",
    "sum(a) OVER (ORDER BY at RANGE INTERVAL '1 month 1 day' PRECEDING)": "E0374",
    "ntile(0) OVER (ORDER BY a)": "E0293",
    "nth_value(a, NULL) OVER (ORDER BY a)": "E0293",
    "rank() FILTER (WHERE a > 1) OVER (ORDER BY a)": "E0374",
    "sum(a) IGNORE NULLS OVER (ORDER BY a)": "E0374",
    "count(DISTINCT a) OVER ()": "E0374",
    "sum(a) OVER w": "E0275",
    "bit_and(a) OVER (ORDER BY a ROWS 1 PRECEDING EXCLUDE CURRENT ROW)": "E0350",
}


def refusal(query: str) -> str | None:
    """Return the code with which a view of the query is refused."""
    try:
        compile_sql(f"{TABLES} CREATE MATERIALIZED VIEW v AS {query};")
    except FloodmarkError as error:
        return error.code
    return None


@pytest.mark.parametrize("call", REFUSED)
def test_what_cannot_be_a_window(call: str) -> None:
    assert refusal(f"SELECT {call} AS x FROM t") == REFUSED[call]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT a FROM t FETCH FIRST 2 ROWS WITH TIES", "E0294"),
        ("SELECT DISTINCT ON (g) g, a FROM t ORDER BY a", "E0295"),
        ("SELECT DISTINCT ON (g, a) g, a FROM t ORDER BY g, k", "E0295"),
        ("SELECT DISTINCT ON (g, a) g, a FROM t ORDER BY a, g, k", None),
        ("SELECT DISTINCT ON (g, a) g, a FROM t ORDER BY a", None),
        ("SELECT a FROM t WHERE rank() OVER (ORDER BY a) = 1", "E0374"),
        ("SELECT a FROM t LIMIT NULL OFFSET 1", None),
        ("SELECT a FROM t WINDOW w AS (v), v AS (ORDER BY a)", "E0275"),
    ],
)
def test_what_cannot_be_first_rows(query: str, code: str | None) -> None:
    assert refusal(query) == code


def top_of(condition: str, call: str = "row_number()", shown: str = "k") -> n.TopN | None:
    """Return the top-N that a view makes of a condition on a number `r`."""
    below = f"SELECT *, {call} OVER (PARTITION BY g ORDER BY a) AS r FROM t"
    query = f"SELECT {shown} FROM (SELECT k, a, r FROM ({below}) x) y WHERE {condition}"
    plan = compile_sql(f"{TABLES} CREATE MATERIALIZED VIEW v AS {query};")["v"].plan
    assert plan is not None
    return next((node for node in plan.nodes if isinstance(node, n.TopN)), None)


@pytest.mark.parametrize(
    ("condition", "limit", "offset"),
    [
        ("r <= 3", 3, 0), ("r < 3", 2, 0), ("r = 1", 1, 0), ("1 = r", 1, 0), ("3 >= r", 3, 0),
        ("4 > r", 3, 0), ("r = 3", 1, 2), ("a > 1 AND r <= 2", 2, 0),
    ],
)  # fmt: skip
def test_a_filter_on_a_row_number_is_a_top_n(condition: str, limit: int, offset: int) -> None:
    found = top_of(condition)
    assert found is not None and (found.limit, found.offset) == (limit, offset)
    assert found.number is None and set(found.input.names) == {"k", "g", "a"}


@pytest.mark.parametrize("condition", ["r > 1", "r <= 0", "r <= 2 OR a = 1", "r <> 1", "r = a"])
def test_other_filters_are_none(condition: str) -> None:
    assert top_of(condition) is None


def test_a_rank_takes_its_ties_and_a_number_stays_where_it_is_read() -> None:
    ranked = top_of("r <= 2", "rank()", "k, r")
    assert ranked is not None and ranked.with_ties and ranked.number is not None
    assert top_of("r = 2", "rank()") is None
    assert top_of("r <= 2", "dense_rank()") is None
    twice = top_of("r <= 2 AND r <> a")
    assert twice is not None and twice.number is not None


@pytest.mark.parametrize(
    ("window", "code"),
    [
        ("TUMBLE(d, at, INTERVAL '6 hours')", "E0211"),
        ("TUMBLE(d, at, INTERVAL '1 day', INTERVAL '6 hours')", "E0211"),
        ("HOP(d, at, INTERVAL '6 hours', INTERVAL '1 day')", "E0211"),
        ("SESSION(d, at, INTERVAL '36 hours')", "E0211"),
        ("TUMBLE(t, at, INTERVAL '1 hour', INTERVAL '1 month')", "E0211"),
        ("TUMBLE(t, at, INTERVAL '0 hours')", "E0211"),
        ("TUMBLE(t, k, INTERVAL '1 hour')", "E0210"),
        ("HOP(t, at, INTERVAL '1 millisecond', INTERVAL '1001 seconds')", "E0156"),
        ("HOP(t, at, INTERVAL '1 millisecond', INTERVAL '1000 seconds')", None),
        ("HOP(d, at, INTERVAL '24 hours', INTERVAL '1 week', INTERVAL '-1 day')", None),
    ],
)
def test_lengths_of_windows_of_time(window: str, code: str | None) -> None:
    tables = f"{TABLES} CREATE TABLE d (k INT PRIMARY KEY, at DATE);"
    try:
        compile_sql(f"{tables} CREATE MATERIALIZED VIEW v AS SELECT * FROM {window}")
    except FloodmarkError as error:
        assert error.code == code
    else:
        assert code is None


_NAMED = (
    "WINDOW w AS (PARTITION BY g ORDER BY a), p AS (PARTITION BY g), "
    "f AS (p ORDER BY a ROWS 1 PRECEDING)"
)


@pytest.mark.parametrize(
    ("window", "code"),
    [
        ("OVER w", None),
        ("OVER f", None),
        ("OVER (w)", None),
        ("OVER (p ORDER BY a)", None),
        ("OVER (w ROWS 1 PRECEDING)", None),
        ("OVER (w PARTITION BY k)", "E0279"),
        ("OVER (w ORDER BY k)", "E0279"),
        ("OVER (f)", "E0279"),
        ("OVER (f ROWS 2 PRECEDING)", "E0279"),
        ("OVER w WINDOW w AS (), w AS ()", "E0279"),
        ("OVER z WINDOW z AS (f)", "E0279"),
    ],
)
def test_a_window_adds_to_the_one_that_it_names(window: str, code: str | None) -> None:
    call, _, clause = f"sum(a) {window}".partition(" WINDOW ")
    named = f"{_NAMED}, {clause}" if clause else _NAMED
    assert refusal(f"SELECT k, {call} AS n FROM t {named}") == code


@pytest.mark.parametrize("offset", [(0, 0, 0), (0, 0, -1), (0, 1, 3_599_999_999)])
def test_an_end_settles_its_start_unless_two_windows_end_with_the_years(
    offset: tuple[int, int, int],
) -> None:
    below = n.Values((), (Field("ts", TIMESTAMP),))
    slide, size = (0, 0, 3_600_000_000), (0, 0, 7_200_000_000)
    hop = n.Hop(below, "ts", slide, size, offset, start="s", end="e")
    found = windows_of(datetime(9999, 12, 31, 23, 59, 59), slide, size, offset)
    assert hop.end_settles_start is (len({end for _, end in found}) == len(found))
