"""A row is there by its period exactly while its condition on `now()` is TRUE."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from hypothesis import example, given, settings, strategies as st

from floodmark.plan import nodes as n
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.rules.temporal_filters import add_temporal_filters
from tests.program_reference import compile_sql

START = datetime(2024, 1, 31, tzinfo=UTC)
DAY = timedelta(days=1)
_PREDICATE = "CREATE TABLE t (k INT PRIMARY KEY, a INT, ts TIMESTAMP, tz TIMESTAMPTZ, d DATE); "
_VIEW = "CREATE MATERIALIZED VIEW v WITH (refresh = 'full') AS SELECT k FROM t WHERE "

intervals = st.sampled_from(
    ["0 days", "1 day", "36 hours", "-90 minutes", "1 microsecond", "-1 day 2 hours"]
)
months = st.sampled_from(["1 month", "-1 month", "11 months 3 days", "-1 year -1 day", "13 months"])
units = st.sampled_from(["second", "hour", "day", "week", "month", "quarter", "year"])
long_units = st.sampled_from(["day", "week", "month", "quarter", "year"])
comparisons = st.sampled_from(["<", "<=", ">", ">=", "="])


@st.composite
def times(draw: st.DrawFn) -> str:
    """Return a function of now() that has an inverse, as SQL."""
    form = draw(st.integers(0, 7))
    moved = f"INTERVAL '{draw(intervals)}'"
    match form:
        case 0:
            return "now()"
        case 1:
            return f"now() {draw(st.sampled_from('+-'))} {moved}"
        case 2:
            return f"date_trunc('{draw(units)}', now())"
        case 3:
            return f"date_trunc('{draw(units)}', now() - {moved}) + {moved}"
        case 4:
            return "current_date"
        case 5:
            return f"now()::date - {draw(st.integers(-3, 3))}"
        case 6:
            sign = draw(st.sampled_from("+-"))
            return f"date_trunc('{draw(long_units)}', now()) {sign} INTERVAL '{draw(months)}'"
        case _:
            inner = f"current_date + INTERVAL '{draw(months)}'"
            return f"date_trunc('{draw(units)}', {inner} - {moved})::date"


@st.composite
def comparisons_with_now(draw: st.DrawFn) -> str:
    """Return a comparison of a row with the time, either way round, maybe negated."""
    f, op = draw(times()), draw(comparisons)
    e = draw(st.sampled_from(["ts", "tz", "d", "ts + INTERVAL '1 day'", "TIMESTAMP '2024-02-29'"]))
    text = f"{f} {op} {e}" if draw(st.booleans()) else f"{e} {op} {f}"
    return f"NOT {text}" if op != "=" and draw(st.booleans()) else text


@st.composite
def predicates(draw: st.DrawFn) -> str:
    """Return a condition that has a period, as SQL."""
    one, two = draw(comparisons_with_now()), draw(comparisons_with_now())
    plain = draw(st.sampled_from(["a = 1", "a IS NULL", "a > 0 AND k < 3"]))
    other = draw(st.sampled_from(["a < 2", "k = 2"]))
    match draw(st.integers(0, 6)):
        case 0:
            return one
        case 1:
            return f"{one} AND {two} AND {plain}"
        case 2:
            return f"({plain}) OR {one}"
        case 3:
            return f"({plain} AND {one}) OR ({other} AND {one})"
        case 4:
            return f"({plain}) OR ({one} AND ({other} OR {two}))"
        case 5:
            return f"NOT (({plain}) OR {one})" if "=" not in one.replace("<=", "") else one
        case _:
            return f"({one} AND {plain}) OR {one}"


@cache
def _filter_of(predicate: str) -> n.Filter:
    plan = compile_sql(_PREDICATE + _VIEW + predicate)["v"].plan
    assert plan is not None
    return next(node for node in plan.nodes if isinstance(node, n.Filter))


def _is_there(node: n.Node, row: dict[str, Any], now: datetime) -> bool:
    """Tell whether a row passes filters, temporal ones by their bounds alone."""
    match node:
        case n.Filter():
            return _value(node.predicate, row, now) is True and _is_there(node.input, row, now)
        case n.TemporalFilter():
            lowers = [_value(bound, row, START) for bound in node.lower_bounds]
            uppers = [_value(bound, row, START) for bound in node.upper_bounds]
            if None in lowers or None in uppers:
                return False
            inside = all(low <= now for low in lowers) and all(now < high for high in uppers)
            return inside and _is_there(node.input, row, now)
        case _:
            return True


def _value(expr: Expr, row: dict[str, Any], now: datetime) -> Any:
    value, error = evaluate(expr, row, now)
    assert error is None, (expr, row)
    return value


moments = st.builds(
    lambda days, part, micros: START + days * DAY + part * DAY / 8 + timedelta(microseconds=micros),
    st.integers(-70, 430), st.integers(0, 8), st.integers(-1, 1),
)  # fmt: skip
nullable = st.one_of(st.none(), moments)


@settings(max_examples=400, deadline=None)
@example("ts > date_trunc('month', now()) - INTERVAL '1 month'", START, START, 1)
@example("now()::date + INTERVAL '1 month' >= tz", START + 60 * DAY, START, 1)
@given(predicates(), nullable, moments, st.sampled_from([None, 1, 2]))
def test_periods_say_when_a_condition_is_true(
    predicate: str, time: datetime | None, now: datetime, a: int | None
) -> None:
    found = _filter_of(predicate)
    kept = add_temporal_filters(found)
    assert isinstance(kept, n.TemporalFilter), predicate
    naive = None if time is None else time.replace(tzinfo=None)
    row = {"k": 2, "a": a, "ts": naive, "tz": time, "d": None if naive is None else naive.date()}
    asked = [now]
    for bound in kept.bounds:
        edge = _value(bound, row, START)
        if edge is not None and START - 4000 * DAY < edge < START + 4000 * DAY:
            asked += [edge - timedelta(microseconds=1), edge, edge + timedelta(microseconds=1)]
    for moment in asked:
        wanted = _value(found.predicate, row, moment) is True
        assert _is_there(kept, row, moment) == wanted, (predicate, row, moment)
