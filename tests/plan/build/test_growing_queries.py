"""Nested and long statements are planned in seconds, or end in an error that says why.

The time is that of the processor: other programs of the machine do not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from floodmark.errors import FloodmarkError
from tests.sql.planned_scripts import Planner

SECONDS = 10
TABLE = "CREATE TABLE t (k INT PRIMARY KEY, v INT, s TEXT, b BOOLEAN, d NUMERIC(10, 2));\n"


def _nested(around: Callable[[str], str], times: int, inner: str) -> str:
    for _ in range(times):
        inner = around(inner)
    return inner


def _value(around: Callable[[str], str], times: int, inner: str) -> str:
    return f"SELECT {_nested(around, times, inner)} AS x FROM t"


def _listed(item: str, times: int, between: str = ", ") -> str:
    return between.join(item.replace("#", str(i)) for i in range(times))


def _joined(kind: str, times: int) -> str:
    joins = (f"{kind} JOIN t AS t{i} ON t{i}.k = t{i - 1}.v" for i in range(1, times))
    return f"SELECT t0.k FROM t AS t0 {' '.join(joins)}"


def _functions(times: int) -> str:
    """Return functions each of which calls the one before twice, and a call of the last."""
    made = [f"f{i}(p INT) RETURNS INT LANGUAGE sql AS '{_twice(i)}'" for i in range(times)]
    return "".join(f"CREATE FUNCTION {m};\n" for m in made) + f"SELECT f{times - 1}(v) FROM t"


def _twice(i: int) -> str:
    return f"f{i - 1}(p) + f{i - 1}(p)" if i else "p + p"


DEEP = 25
EACH = {
    "CASE in ELSE": _value(lambda x: f"CASE WHEN v > 1 THEN v ELSE {x} END", DEEP, "v"),
    "CASE in WHEN": _value(lambda x: f"CASE WHEN {x} > 1 THEN 1 ELSE 2 END", DEEP, "v"),
    "CASE of CASE": _value(lambda x: f"CASE {x} WHEN 1 THEN 2 WHEN 3 THEN 4 END", DEEP, "v"),
    "COALESCE": _value(lambda x: f"coalesce({x}, v)", DEEP, "v"),
    "NULLIF": _value(lambda x: f"nullif({x}, v)", DEEP, "v"),
    "GREATEST": _value(lambda x: f"greatest({x}, v, k)", DEEP, "v"),
    "sums of products": _value(lambda x: f"({x} + v) * k", DEEP, "v"),
    "quotients": _value(lambda x: f"({x} / v)", DEEP, "d"),
    "sums of intervals": _value(lambda x: f"({x} + INTERVAL '1 day')", DEEP, "DATE '2026-01-01'"),
    "BETWEEN": _value(lambda x: f"({x} BETWEEN false AND b)", DEEP, "b"),
    "IN of no constants": _value(lambda x: f"({x} IN (b, true))", DEEP, "b"),
    "IS DISTINCT FROM": _value(lambda x: f"({x} IS DISTINCT FROM b)", DEEP, "b"),
    "= ANY": _value(lambda x: f"({x} = ANY (ARRAY[b, true]))", DEEP, "b"),
    "NOT": f"SELECT {'NOT ' * 50} b FROM t",
    "parentheses": f"SELECT {'(' * 50}v{')' * 50} FROM t",
    "300 parentheses": f"SELECT {'(' * 300}v{')' * 300} FROM t",
    "casts": f"SELECT v{'::text::int' * 25} FROM t",
    "60 casts": f"SELECT v{'::text::int' * 60} FROM t",
    "functions that call twice": _functions(20),
    "subqueries in FROM": "SELECT * FROM "
    + _nested(lambda x: f"(SELECT * FROM {x}) AS q", 50, "t"),
    "300 subqueries": "SELECT * FROM " + _nested(lambda x: f"(SELECT * FROM {x}) AS q", 300, "t"),
    "subqueries that compute": "SELECT * FROM "
    + _nested(lambda x: f"(SELECT k, b BETWEEN b AND b AS b FROM {x}) AS q", 25, "t"),
    "conditions over what is computed": "SELECT * FROM "
    + _nested(lambda x: f"(SELECT k, b BETWEEN b AND b AS b FROM {x} WHERE b) AS q", 25, "t"),
    "EXISTS in EXISTS": "SELECT * FROM t WHERE "
    + _nested(lambda x: f"EXISTS (SELECT 1 FROM t AS u WHERE u.k > 1 AND {x})", 25, "true"),
    "values of subqueries": "SELECT "
    + _nested(lambda x: f"(SELECT max(k) FROM t WHERE v = {x})", 25, "1"),
    "25 self joins": _joined("", 25),
    "25 left joins": _joined("LEFT", 25),
    "25 full joins": _joined("FULL", 25),
    "25 relations in FROM": f"SELECT t0.k FROM {_listed('t AS t#', 25)} WHERE "
    + " AND ".join(f"t{i}.k = t{i - 1}.v" for i in range(1, 25)),
    "150 UNION ALL": _listed("SELECT k FROM t WHERE v = #", 150, " UNION ALL "),
    "150 UNION": _listed("SELECT k FROM t WHERE v = #", 150, " UNION "),
    "150 EXCEPT": _listed("SELECT k FROM t WHERE v = #", 150, " EXCEPT "),
    "10,000 numbers in IN": f"SELECT k FROM t WHERE v IN ({_listed('#', 10_000)})",
    "10,000 texts in IN": "SELECT k FROM t WHERE s IN (" + _listed("'a#'", 10_000) + ")",
    "10,000 numbers in NOT IN": f"SELECT k FROM t WHERE v NOT IN ({_listed('#', 10_000)})",
    "3,000 numbers in ANY": f"SELECT k FROM t WHERE v = ANY (ARRAY[{_listed('#', 3_000)}])",
    "3,000 rows in IN": f"SELECT k FROM t WHERE (k, v) IN ({_listed('(#, #)', 3_000)})",
    "1,000 columns": f"SELECT {_listed('v + # AS c#', 1_000)} FROM t",
    "500 aggregates": f"SELECT {_listed('sum(v + #) AS c#', 500)} FROM t GROUP BY s",
    "500 keys": f"SELECT count(*) FROM t GROUP BY {_listed('v + #', 500)}",
    "500 branches of CASE": f"SELECT CASE {_listed('WHEN v = # THEN #', 500, ' ')} END FROM t",
    "500 values of CASE": f"SELECT CASE v {_listed('WHEN # THEN #', 500, ' ')} END FROM t",
    "290 AND": f"SELECT k FROM t WHERE {_listed('v <> #', 290, ' AND ')}",
    "290 OR": f"SELECT k FROM t WHERE {_listed('(v = # AND k > #)', 290, ' OR ')}",
    "290 operators": f"SELECT {_listed('v', 290, ' + ')} FROM t",
    "2,000 arguments": f"SELECT greatest({_listed('v + #', 2_000)}) FROM t",
    "70 values of subqueries": f"SELECT {_listed('(SELECT max(k) FROM t WHERE v > #) AS c#', 70)}",
}
TWICE = (
    "BETWEEN", "IN of no constants", "= ANY", "functions that call twice", "CASE of CASE",
)  # fmt: skip
QUICK = (*TWICE, "COALESCE", "300 subqueries", "parentheses", "casts", "NOT")


def _planned(text: str) -> str:
    """Plan a query and a view of it; return the code of the error that it ends in, or nothing."""
    started = time.process_time()
    before, _, query = text.rpartition(";\n")
    code = ""
    try:
        Planner().script(f"{TABLE}{before}{';' if before else ''}\n{query}")
        Planner().script(
            f"{TABLE}{before};\nCREATE MATERIALIZED VIEW z AS {query}".replace("\n;", "")
        )
    except FloodmarkError as error:
        code = error.code
        assert error.render()
    assert time.process_time() - started < SECONDS
    return code


@pytest.mark.parametrize("name", QUICK)
def test_what_nests_is_planned_in_seconds_or_refused(name: str) -> None:
    expected = "E0111" if name == "300 subqueries" else ""
    assert _planned(EACH[name]) == ("E0147" if name in TWICE else expected)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in EACH if name not in QUICK])
def test_what_is_long_is_planned_in_seconds_or_refused(name: str) -> None:
    assert _planned(EACH[name]) in ("", "E0111", "E0112", "E0133", "E0136", "E0147")
