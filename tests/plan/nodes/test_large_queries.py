"""Queries of many parts are planned in seconds, or refused by count: E0133 and E0134."""

from __future__ import annotations

import time

import pytest

from floodmark.changelog import is_hidden
from floodmark.errors import FloodmarkError
from floodmark.limits import Limits
from floodmark.stream.objects import supported
from tests.program_reference import compile_sql

TABLE = "CREATE TABLE t (k INT PRIMARY KEY, v INT, s TEXT);"
SECONDS = 10


def _doubled(n: int, columns: str) -> str:
    each = (
        f"c{i} AS (SELECT {columns} FROM c{i - 1} a JOIN c{i - 1} b ON a.k = b.k)"
        for i in range(1, n)
    )
    return f"WITH c0 AS (SELECT k FROM t), {', '.join(each)} SELECT * FROM c{n - 1}"


def _chain(n: int) -> str:
    each = (f"c{i} AS (SELECT k + 1 AS k FROM c{i - 1})" for i in range(1, n))
    return f"WITH c0 AS (SELECT k FROM t), {', '.join(each)} SELECT * FROM c{n - 1}"


def _joined(n: int, column: str) -> str:
    joins = (f"JOIN t t{i} ON t{i}.{column} = t{i - 1}.{column}" for i in range(1, n))
    return f"SELECT t0.k FROM t t0 {' '.join(joins)}"


def _listed(part: str, n: int, between: str = ", ") -> str:
    return between.join(part.replace("#", str(i)) for i in range(n))


PLANNED = {
    "25 self joins by key": _joined(26, "k"),
    "25 self joins": _joined(26, "v"),
    "150 UNION ALL": " UNION ALL ".join(["SELECT k, 'x' AS x FROM t"] * 150),
    "60 queries of WITH": _chain(60),
    "a pattern of many %": f"SELECT k FROM t WHERE s LIKE '{'%a' * 60}%'",
}
LONG = {
    "30,000 numbers in IN": f"SELECT k FROM t WHERE v IN ({_listed('#', 30_000)})",
    "12,000 branches of CASE": f"SELECT CASE {_listed('WHEN v = # THEN #', 12_000, ' ')} END AS c"
    " FROM t",
    "12,000 values of CASE": f"SELECT CASE v {_listed('WHEN # THEN #', 12_000, ' ')} END AS c"
    " FROM t",
    "10,000 arguments of COALESCE": "SELECT coalesce("
    f"{_listed('nullif(v, #)', 10_000)}) AS c FROM t",
    "20,000 rows of VALUES": f"SELECT a FROM (VALUES {_listed('(#, #)', 20_000)}) AS x (a, b)",
    "200 keys": f"SELECT count(*) AS n FROM t GROUP BY {_listed('v + #', 200)}",
    "100 queries of WITH": _chain(100),
    "12 relations in FROM": f"SELECT t0.k FROM {_listed('t AS t#', 12)} WHERE "
    + " AND ".join(f"t{i}.k = t{i - 1}.v" for i in range(1, 12)),
}
REFUSED = {
    "10,000 AND": (f"SELECT k FROM t WHERE {_listed('v <> #', 10_000, ' AND ')}", "E0112"),
    "10,000 texts in a chain": (f"SELECT {_listed('s', 10_000, ' || ')} FROM t", "E0112"),
    "500 calls in each other": (f"SELECT {'abs(' * 500}v{')' * 500} FROM t", "E0111"),
    "5,000 columns": (f"SELECT {_listed('v + # AS c#', 5_000)} FROM t", "E0134"),
    "15 queries that double": (_doubled(16, "a.k"), "E0133"),
    "40 queries that double": (_doubled(41, "a.k"), "E0133"),
    "1,000 UNION ALL": (" UNION ALL ".join(["SELECT k FROM t"] * 1001), "E0133"),
    "150 UNION": (" UNION ".join(["SELECT k FROM t"] * 150), "E0133"),
    "300 queries of WITH": (_chain(300), "E0133"),
    "100 joins": (_joined(101, "v"), "E0133"),
    "columns that double": (f"SELECT {', '.join(['t.*'] * 600)} FROM t", "E0134"),
    "an array of arrays": (f"SELECT NULL::int{'[]' * 2000}", "E0111"),
    "a chain of subscripts": (f"SELECT (ARRAY[1]){'[1]' * 500}", "E0112"),
    "a chain of casts": (f"SELECT k{'::int' * 400} FROM t", "E0112"),
    "a struct of structs": (f"SELECT NULL::{'struct<a ' * 500}int{'>' * 500}", "E0111"),
}


@pytest.mark.parametrize("name", PLANNED)
def test_many_parts_are_planned_in_seconds(name: str) -> None:
    started = time.process_time()
    compile_sql(f"{TABLE} CREATE MATERIALIZED VIEW q AS {PLANNED[name]};")
    assert time.process_time() - started < SECONDS


@pytest.mark.long
@pytest.mark.parametrize("name", LONG)
def test_very_many_parts_are_planned_in_seconds(name: str) -> None:
    """The processor time of planning grows with the number of parts, not with its square."""
    started = time.process_time()
    compile_sql(f"{TABLE} CREATE MATERIALIZED VIEW q AS {LONG[name]};")
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("name", REFUSED)
def test_too_many_are_refused_by_count(name: str) -> None:
    query, code = REFUSED[name]
    started = time.process_time()
    with pytest.raises(FloodmarkError) as caught:
        compile_sql(f"{TABLE} CREATE MATERIALIZED VIEW q AS {query};")
    assert caught.value.code == code
    assert time.process_time() - started < SECONDS


def test_views_count_with_all_that_they_have() -> None:
    views = "".join(
        f"CREATE VIEW v{i} AS SELECT a.k FROM v{i - 1} a JOIN v{i - 1} b ON a.k = b.k;"
        for i in range(1, 10)
    )
    with pytest.raises(FloodmarkError) as caught:
        compile_sql(f"{TABLE} CREATE VIEW v0 AS SELECT k FROM t; {views}")
    assert caught.value.code == "E0133"


def test_a_long_chain_of_union_all_has_the_types_of_all_branches() -> None:
    branches = [
        "SELECT NULL AS a, 'x' AS b",
        *["SELECT 1.5, NULL"] * 20,
        *["SELECT k, s FROM t"] * 20,
    ]
    plan = compile_sql(f"{TABLE} CREATE MATERIALIZED VIEW q AS {' UNION ALL '.join(branches)};")
    shown = [str(f.type) for f in plan["q"].plan.root.schema if not is_hidden(f.name)]
    assert shown == ["numeric(11,1)", "character varying"]


@pytest.mark.parametrize(
    "call", ["sum(CASE WHEN v = {i} THEN k END)", "lag(v, {i}) OVER (ORDER BY k)"]
)
def test_an_operator_that_cannot_be_split_is_refused_by_count(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supported, "LIMITS", Limits(query_calls=12))

    def compiled(count: int, end: str = "") -> None:
        items = ", ".join(f"{call.format(i=i)} AS c{i}" for i in range(count))
        compile_sql(f"{TABLE} CREATE MATERIALIZED VIEW q {end} AS SELECT {items} FROM t;")

    compiled(12)
    compiled(13, "WITH (refresh = 'full')")
    with pytest.raises(FloodmarkError, match="13 ") as caught:
        compiled(13)
    assert caught.value.code == "E0349"
