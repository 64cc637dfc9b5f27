"""What a query that cannot emit on close is told to be instead is accepted."""

from __future__ import annotations

import pytest

from floodmark.errors import FloodmarkError
from tests.program_reference import compile_sql

FILES = "WITH (connector = 'files', path = '/nowhere') FORMAT PLAIN ENCODE PARQUET"
SOURCES = f"""
CREATE SOURCE a (k INT, ts TIMESTAMP, v INT, WATERMARK FOR ts AS ts) {FILES};
CREATE SOURCE b (j INT, tb TIMESTAMP, u INT, WATERMARK FOR tb AS tb) {FILES};
CREATE SOURCE c (k INT, t BIGINT, v INT, WATERMARK FOR t AS t) {FILES};
CREATE SOURCE d (k INT, day DATE, WATERMARK FOR day AS day) {FILES};
CREATE SOURCE z (k INT, tz TIMESTAMPTZ, t2 TIMESTAMP, WATERMARK FOR tz AS tz,
                 WATERMARK FOR t2 AS t2) {FILES};
CREATE TABLE dim (k INT PRIMARY KEY, n VARCHAR);
"""
TUMBLED = "FROM TUMBLE(a, ts, INTERVAL '5 minutes') x"
FRAME = "PARTITION BY k ORDER BY ts"
NEAR = "k = j AND ts BETWEEN tb - INTERVAL '1 minute' AND tb"

FOLLOWED = [
    (
        "SELECT ts FROM a WHERE v > (SELECT avg(u) FROM b)",
        "or with the value of each window",
        f"SELECT x.window_start, x.k {TUMBLED} JOIN (SELECT window_start, avg(u) AS m FROM "
        "TUMBLE(b, tb, INTERVAL '5 minutes') GROUP BY window_start) w "
        "ON x.window_start = w.window_start WHERE x.v > w.m",
    ),
    (
        "SELECT ts, (SELECT max(u) FROM b WHERE b.j = a.k) AS m FROM a",
        "AND tb = ts",
        "SELECT ts, (SELECT max(u) FROM b WHERE b.j = a.k AND tb = ts) AS m FROM a",
    ),
    (
        "SELECT ts, (SELECT u FROM b WHERE b.j = a.k) AS m FROM a",
        "AND tb = ts",
        "SELECT ts, (SELECT u FROM b WHERE b.j = a.k AND tb = ts) AS m FROM a",
    ),
    (
        "SELECT ts, k IN (SELECT j FROM b WHERE u = a.v) AS m FROM a",
        "AND tb = ts",
        "SELECT ts, k IN (SELECT j FROM b WHERE u = a.v AND tb = ts) AS m FROM a",
    ),
    (
        "SELECT z.k, count(*) AS n FROM z LEFT JOIN d ON tz::date = day GROUP BY z.k",
        "GROUP BY tz::date",
        "SELECT z.k, count(*) AS n FROM z LEFT JOIN d ON tz::date = day GROUP BY z.k, tz::date",
    ),
    (
        "SELECT to_char(ts, 'YYYY') AS y, count(*) AS n FROM a GROUP BY 1",
        "GROUP BY date_trunc('hour', ts)",
        "SELECT count(*) AS n FROM a GROUP BY date_trunc('hour', ts)",
    ),
    (
        "SELECT tz AT TIME ZONE 'Europe/Berlin' AS y, count(*) AS n FROM z GROUP BY 1",
        "GROUP BY date_trunc('hour', tz)",
        "SELECT count(*) AS n FROM z GROUP BY date_trunc('hour', tz)",
    ),
    (
        "SELECT t % 60 AS m, count(*) AS n FROM c GROUP BY 1",
        "t / 60",
        "SELECT t / 60 AS m, count(*) AS n FROM c GROUP BY 1",
    ),
    (
        "SELECT to_char(day, 'YYYY') AS m, count(*) AS n FROM d GROUP BY 1",
        "date_trunc('month', day)",
        "SELECT date_trunc('month', day) AS m, count(*) AS n FROM d GROUP BY 1",
    ),
    (
        "SELECT date_trunc('hour', tz) AS x, date_trunc('hour', t2) AS y FROM z GROUP BY 1, 2",
        "group by one of date_trunc('hour', tz), date_trunc('hour', t2)",
        "SELECT date_trunc('hour', t2) AS y FROM z GROUP BY date_trunc('hour', t2)",
    ),
    ("SELECT DISTINCT k FROM a", "pass ts on", "SELECT DISTINCT k, ts FROM a"),
    (
        "SELECT k, count(*) AS n FROM (SELECT k FROM a) x GROUP BY k",
        "pass ts on",
        "SELECT k, count(*) AS n FROM (SELECT k, ts FROM a) x GROUP BY k, ts",
    ),
    (
        f"SELECT ts, sum(v) OVER ({FRAME} DESC) AS s FROM a",
        "RANGE BETWEEN INTERVAL '5 minutes' PRECEDING AND CURRENT ROW",
        f"SELECT ts, sum(v) OVER ({FRAME} DESC RANGE BETWEEN INTERVAL '5 minutes' PRECEDING AND "
        "CURRENT ROW) AS s FROM a",
    ),
    (
        "SELECT t, sum(v) OVER (ORDER BY t DESC) AS s FROM c",
        "RANGE BETWEEN 5 PRECEDING AND CURRENT ROW",
        "SELECT t, sum(v) OVER (ORDER BY t DESC RANGE BETWEEN 5 PRECEDING AND CURRENT ROW) AS s "
        "FROM c",
    ),
    (
        f"SELECT ts, sum(v) OVER ({FRAME} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS s "
        "FROM a",
        "5 FOLLOWING",
        f"SELECT ts, sum(v) OVER ({FRAME} ROWS BETWEEN CURRENT ROW AND 5 FOLLOWING) AS s FROM a",
    ),
    (
        f"SELECT ts, rank() OVER ({FRAME} DESC) AS r FROM a",
        "leave DESC out",
        f"SELECT ts, rank() OVER ({FRAME}) AS r FROM a",
    ),
    *(
        (
            f"SELECT ts, {call} OVER ({FRAME}) AS r FROM a",
            "PARTITION BY a window or ts",
            f"SELECT ts, {call} OVER (PARTITION BY window_start, k ORDER BY ts) AS r {TUMBLED}",
        )
        for call in ("percent_rank()", "cume_dist()", "ntile(3)", "lead(v) IGNORE NULLS")
    ),
    (
        f"SELECT ts, tb FROM a FULL JOIN b ON {NEAR}",
        "UNION ALL the other side's rows WHERE NOT EXISTS a match",
        f"SELECT ts AS at, k, j FROM a LEFT JOIN b ON {NEAR} UNION ALL SELECT tb, NULL, j FROM b "
        f"WHERE NOT EXISTS (SELECT 1 FROM a WHERE {NEAR})",
    ),
    (
        "SELECT ts FROM a WHERE EXISTS (SELECT 1 FROM b WHERE tb BETWEEN ts AND ts + "
        "INTERVAL '1 month')",
        "INTERVAL '31 days'",
        "SELECT ts FROM a WHERE EXISTS (SELECT 1 FROM b WHERE tb BETWEEN ts AND ts + "
        "INTERVAL '31 days')",
    ),
    (
        "SELECT ts, n FROM a JOIN dim ON a.k = dim.k",
        "JOIN dim FOR SYSTEM_TIME AS OF PROCTIME()",
        "SELECT ts, n FROM a JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() ON a.k = dim.k",
    ),
    (
        "SELECT ts, n FROM dim LEFT JOIN a ON a.k = dim.k",
        "LEFT JOIN dim FOR SYSTEM_TIME AS OF PROCTIME()",
        "SELECT ts, n FROM a LEFT JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() ON a.k = dim.k",
    ),
    (
        "SELECT ts FROM a WHERE k IN (SELECT k FROM dim)",
        "by its key in place of the subquery, JOIN dim FOR SYSTEM_TIME AS OF PROCTIME()",
        "SELECT ts FROM a JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() ON a.k = dim.k",
    ),
    (
        "SELECT ts FROM a WHERE NOT EXISTS (SELECT 1 FROM dim WHERE dim.k = a.k)",
        "WHERE its key IS NULL",
        "SELECT ts FROM a LEFT JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() ON a.k = dim.k "
        "WHERE dim.k IS NULL",
    ),
    (
        "SELECT ts FROM a WHERE (ts, k) NOT IN (SELECT tb, j FROM b)",
        "NOT EXISTS",
        "SELECT ts FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE tb = ts AND j = k)",
    ),
]


@pytest.mark.parametrize(("refused", "hint", "followed"), FOLLOWED)
def test_what_the_hint_says_is_accepted(refused: str, hint: str, followed: str) -> None:
    with pytest.raises(FloodmarkError) as raised:
        _closing(refused)
    assert hint in (raised.value.hint or "")
    assert raised.value.span is not None
    assert "__" not in raised.value.render()
    _closing(followed)


@pytest.mark.parametrize(
    "condition",
    [
        "v > (SELECT avg(u) FROM b)",
        "EXISTS (SELECT 1 FROM dim)",
        "k NOT IN (SELECT k FROM dim)",
    ],
)
def test_a_view_that_reads_the_closed_one_may_ask(condition: str) -> None:
    with pytest.raises(FloodmarkError, match=r"Emit-On-Window-Close") as raised:
        _closing(f"SELECT ts FROM a WHERE {condition}")
    assert "in a view without EMIT ON WINDOW CLOSE that reads this one" in (raised.value.hint or "")
    view = "CREATE MATERIALIZED VIEW closed AS SELECT * FROM a EMIT ON WINDOW CLOSE"
    asks = f"CREATE MATERIALIZED VIEW m AS SELECT ts FROM closed WHERE {condition}"
    assert compile_sql(f"{SOURCES} {view}; {asks};")["m"].plan


def _closing(query: str) -> None:
    compile_sql(f"{SOURCES} CREATE MATERIALIZED VIEW m AS {query} EMIT ON WINDOW CLOSE;")
