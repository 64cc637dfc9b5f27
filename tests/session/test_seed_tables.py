"""The SQL of the proposal for sinks into tables, each example of it, on rows of the test.

It is that of tests/sql/seeds.sql. What is corrected in the examples, everywhere: `connector =
'kafka'` (files, or a table that takes INSERT), `order_time` (the column is `event_time`), a sum of
BIGINT for a BIGINT column (a sum is NUMERIC: it is cast), the day from which a new query counts,
which is the same everywhere: 2020-10-10. What is corrected in one of them stands beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from floodmark.api import Floodmark
from floodmark.errors import FloodmarkError
from tests.warehouses import Site

pytestmark = pytest.mark.spark

WITH_AND_WITHOUT_TTL = pytest.mark.parametrize(
    "ttl",
    [pytest.param(False, id="kept", marks=pytest.mark.long), pytest.param(True, id="ttl")],
)
SEEDS = (Path(__file__).parents[1] / "sql" / "seeds.sql").read_text().split(";\n")
EVERYWHERE = (
    ("order_time", "event_time"),
    ("'2010-10-10", "'2020-10-10"),
    ("sum(price) as", "sum(price)::bigint as"),
)
TTL = re.compile(r"\s*WITH \(\s*'ttl' = '7d'[^)]*\)")
KAFKA = re.compile(r"\s*WITH \(\s*'connector.type' = 'kafka',?\s*\)")
FILES = "WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON"


def seed(begins: str, *corrections: tuple[str, str], ttl: bool = False) -> str:
    """Return the statement that begins so, corrected; without a TTL unless it is asked for."""
    (found,) = (text for text in SEEDS if text.startswith(begins))
    found = found if ttl else TTL.sub("", found)
    if found.startswith("CREATE SOURCE"):
        found = f"{KAFKA.sub('', found)} {FILES}"
    for wrong, right in corrections:
        assert wrong in found, (wrong, found)
        found = found.replace(wrong, right)
    for wrong, right in EVERYWHERE:
        found = found.replace(wrong, right)
    return f"{KAFKA.sub('', found)};\n"


ORDERS = seed("CREATE TABLE dwd_orders (\n    user VARCHAR,\n    product")


def land(folder: Path, name: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write a file of JSON lines."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text("\n".join(map(json.dumps, rows)))


def order(fm: Floodmark, *rows: tuple[str, str, int, str]) -> None:
    """Insert orders: user, product, price and time of 2020-10-09 or, with a day, of that."""
    values = ", ".join(
        f"('{user}', '{product}', {price}, '2020-10-{at if ' ' in at else '09 ' + at}:00')"
        for user, product, price, at in rows
    )
    fm.execute(f"INSERT INTO dwd_orders VALUES {values}")


def rows_of(fm: Floodmark, query: str) -> list[tuple[Any, ...]]:
    return list(fm.execute(query).rows)


WIDE = "CREATE TABLE dws_product_per_hour (\n  hour TIMESTAMP,\n  product VARCHAR,\n  click_cnt"


@WITH_AND_WITHOUT_TTL
def test_several_streams_into_one_wide_table(site: Site, ttl: bool) -> None:
    site.define(
        seed("CREATE SOURCE dwd_click_events"),
        ORDERS,
        seed(WIDE, ttl=ttl),
        seed("CREATE SINK click_production_analyze_per_hour_job"),
        """
        CREATE SINK order_production_analyze_per_hour_job INTO dws_product_per_hour AS
        SELECT
          window_start,
          product,
          NULL as click_cnt,
          COUNT(*)
        FROM TUMBLE(dwd_orders, event_time, INTERVAL '1' HOUR)
        GROUP BY window_start, product;
        """,
    )
    at = "2020-10-09T{}:00"
    clicks = [("ann", "nut", "10:05"), ("bob", "nut", "10:55"), ("ann", "pin", "11:00")]
    events = [{"user": u, "product": p, "event_time": at.format(t)} for u, p, t in clicks]
    with site.connect() as fm:
        land(site.landing, "1", events)
        fm.advance()
        order(fm, ("ann", "nut", 5, "10:10"), ("bob", "bolt", 7, "10:20"))
        land(site.landing, "2", [events[0]])
        fm.advance()
        wide = "SELECT to_char(hour, 'HH24'), product, click_cnt, sell_cnt FROM {} ORDER BY 1, 2"
        assert rows_of(fm, wide.format("dws_product_per_hour")) == [
            ("10", "bolt", None, 1), ("10", "nut", 3, 1), ("11", "pin", 1, None),
        ]  # fmt: skip


@WITH_AND_WITHOUT_TTL
def test_results_that_statements_correct(site: Site, ttl: bool) -> None:
    """Corrected: `DAY(event_time) = '${1-days-ago}'` is extract(day FROM …) = a number."""
    site.define(
        seed("CREATE SOURCE dwd_user_behavior_with_watermark"),
        """
        CREATE TABLE dwd_user_behavior (
            user VARCHAR,
            product VARCHAR,
            price BIGINT,
            event_time TIMESTAMP,
            behavior VARCHAR
        ) WITH (connector = 'files', path = '{landing}'{ttl}) FORMAT PLAIN ENCODE JSON;
        """.replace("{ttl}", ", 'ttl' = '30d'" if ttl else ""),
        seed("CREATE TABLE dws_per_hour", ttl=ttl),
        seed("CREATE SINK events_analyze_per_hour_job"),
    )
    did = [("10:00:00", "buy"), ("10:30:00", "sell"), ("11:00:00", "buy"), ("10:59:00", "buy")]
    shared = {"user": "ann", "product": "nut", "price": 1}
    events = [{**shared, "event_time": f"2020-10-09T{t}", "behavior": b} for t, b in did]
    corrected = seed(
        "INSERT INTO dws_per_hour",
        ("DAY(event_time) = '${1-days-ago}'", "extract(day FROM event_time) = 9"),
    )
    streamed = "dwd_user_behavior_with_watermark"
    counts = "SELECT to_char(hour, 'HH24'), buy_cnt, sell_cnt FROM dws_per_hour ORDER BY 1"
    with site.connect() as fm:
        land(site.landing, "1", events)
        fm.advance()
        late = [("10", 1, 1), ("11", 1, 0)]
        assert rows_of(fm, counts) == late
        fm.execute(corrected)
        assert rows_of(fm, counts) == late
        fm.execute(corrected.replace(streamed, streamed.removesuffix("_with_watermark")))
        assert rows_of(fm, counts) == [("10", 2, 1), ("11", 1, 0)]


@WITH_AND_WITHOUT_TTL
def test_backfill_with_a_conflict_behaviour_that_does_not_go_back(site: Site, ttl: bool) -> None:
    """Corrected: `window_start`, which is neither in dwd_orders nor in the table, is left out, of
    `THEN EXCLUDED.order_cnt, order_cnt` the second; the later clause sets sell_sum, not sell_cnt,
    and goes on with order_cnt; the new sink counts the same orders, so that >= takes its sums.
    """
    site.define()
    with site.connect() as fm:
        fm.execute(ORDERS.replace(";", " APPEND ONLY;"))
        fm.execute(seed("CREATE TABLE dws_product (", ttl=ttl))
        fm.execute(seed("CREATE SINK order_production_analyze_job", ("  window_start,\n", "")))
        order(
            fm, ("ann", "nut", 5, "10:10"), ("bob", "nut", 6, "10:20"), ("bob", "pin", 1, "10:30")
        )
        order(fm, ("cid", "nut", 7, "11:10"))
        found = "SELECT product, order_cnt{} FROM dws_product ORDER BY 1"
        assert rows_of(fm, found.format("")) == [("nut", 3), ("pin", 1)]
        highest = (
            "CASE WHEN EXCLUDED.order_cnt > order_cnt THEN EXCLUDED.order_cnt ELSE order_cnt END"
        )
        fm.execute(
            seed(
                "ALTER TABLE dws_product ADD sell_sum",
                ("sell_cnt = CASE", f"order_cnt = {highest}, sell_sum = CASE"),
                ("AND EXCLUDED.order_cnt > ", "AND EXCLUDED.order_cnt >= "),
            )
        )
        fm.execute(
            """
            CREATE SINK new_order_production_analyze_job INTO dws_product AS
            SELECT
              product,
              COUNT(*) as order_cnt,
              sum(price)::bigint as sell_sum
            FROM dwd_orders
            GROUP BY product
            WITH (
              force_append_only = 'true'
            )"""
        )
        fm.execute(seed("DROP SINK order_production_analyze_job"))
        fm.execute(seed("ALTER SINK new_order_production_analyze_job"))
        summed = found.format(", sell_sum")
        assert rows_of(fm, summed) == [("nut", 3, 18), ("pin", 1, 1)]
        order(fm, ("ann", "pin", 9, "12:00"))
        assert rows_of(fm, summed) == [("nut", 3, 18), ("pin", 2, 10)]
        assert [r[0] for r in rows_of(fm, "SHOW SINKS")] == ["order_production_analyze_job"]


PER_HOUR = "CREATE TABLE dws_product_per_hour (\n  hour TIMESTAMP,\n  product VARCHAR,\n  order_cnt"
COUNTED = """
CREATE SINK order_production_analyze_per_hour_job INTO dws_product_per_hour AS
SELECT
  window_start,
  product,
  COUNT(*) as order_cnt
FROM TUMBLE(dwd_orders, event_time, INTERVAL '1' HOUR)
GROUP BY window_start, product
WITH (
  force_append_only = 'true'
);
"""
HOURS = "SELECT to_char(hour, 'DD HH24'), product, order_cnt, sell_sum{} FROM {} ORDER BY 1, 2"


def order_two_days(fm: Floodmark) -> None:
    order(fm, ("ann", "nut", 5, "10:10"), ("bob", "nut", 6, "10:20"))
    order(fm, ("cid", "nut", 7, "10 10:10"))


@WITH_AND_WITHOUT_TTL
def test_apply_delta_with_a_version_of_the_query(site: Site, ttl: bool) -> None:
    """Corrected: `ALTER TABLE ON CONFLICT` names none, `ALTER TABLE dws_product` another table."""
    site.define()
    with site.connect() as fm:
        fm.execute_script(ORDERS + seed(PER_HOUR, ttl=ttl) + COUNTED)
        order_two_days(fm)
        fm.execute("ALTER TABLE dws_product_per_hour ADD sell_sum BIGINT")
        fm.execute(seed("ALTER TABLE dws_product_per_hour ADD column sql_version"))
        fm.execute(seed("ALTER TABLE dws_product_per_hour ON CONFLICT"))
        fm.execute(seed("CREATE SINK new_order_production_analyze_per_hour_job"))
        order(fm, ("ann", "nut", 8, "10:30"), ("ann", "nut", 9, "10 10:30"))
        hours = HOURS.format(", sql_version", "dws_product_per_hour")
        both = [("09 10", "nut", 3, None, 0), ("10 10", "nut", 2, 16, 1)]
        assert rows_of(fm, hours) == both
        fm.execute("DROP SINK order_production_analyze_per_hour_job")
        fm.execute(
            "ALTER SINK new_order_production_analyze_per_hour_job "
            "RENAME TO order_production_analyze_per_hour_job"
        )
        order(fm, ("ann", "pin", 1, "10 10:40"))
        assert rows_of(fm, hours) == [*both, ("10 10", "pin", 1, 1, 1)]


@WITH_AND_WITHOUT_TTL
def test_apply_delta_with_another_query_of_the_sink(site: Site, ttl: bool) -> None:
    """Corrected: WHERE stands before GROUP BY; the table as above."""
    site.define()
    with site.connect() as fm:
        fm.execute_script(ORDERS + seed(PER_HOUR, ttl=ttl) + COUNTED)
        order_two_days(fm)
        fm.execute("ALTER TABLE dws_product_per_hour ADD sell_sum BIGINT")
        fm.execute(seed("ALTER SINK order_production_analyze_per_hour_job AS"))
        no_version = (",\n  1 as sql_version", "")
        fm.execute(seed("CREATE SINK new_order_production_analyze_per_hour_job", no_version))
        order(fm, ("ann", "nut", 8, "10:30"), ("ann", "nut", 9, "10 10:30"))
        assert rows_of(fm, HOURS.format("", "dws_product_per_hour")) == [
            ("09 10", "nut", 3, None), ("10 10", "nut", 2, 16),
        ]  # fmt: skip


def test_a_sink_of_some_columns_and_a_table_of_a_query(site: Site) -> None:
    """The forms that the text describes: column lists, CREATE TABLE AS, a view made a table."""
    site.define()
    with site.connect() as fm:
        fm.execute_script(ORDERS)
        fm.execute_script(
            """
            CREATE TABLE listed
                (product VARCHAR PRIMARY KEY, note VARCHAR DEFAULT 'none', n BIGINT);
            CREATE SINK listed INTO listed (n, product)
                AS SELECT count(*), product FROM dwd_orders GROUP BY product;
            CREATE TABLE table_name
                AS SELECT product, count(*) AS n FROM dwd_orders GROUP BY product;
            CREATE MATERIALIZED VIEW mv_table AS
                SELECT product, count(*) AS n FROM dwd_orders GROUP BY product;
            """
        )
        order(fm, ("ann", "nut", 5, "10:10"))
        fm.execute("ALTER MATERIALIZED VIEW mv_table TO TABLE")
        fm.execute("INSERT INTO mv_table VALUES ('by hand', 0)")
        order(fm, ("ann", "nut", 5, "10:20"))
        assert rows_of(fm, "SELECT * FROM listed") == [("nut", "none", 2)]
        assert rows_of(fm, "SELECT product, n FROM table_name") == [("nut", 2)]
        assert rows_of(fm, "SELECT * FROM mv_table ORDER BY 1") == [("by hand", 0), ("nut", 2)]
        for query, code in (
            ("INTO listed (n) AS SELECT count(*), product FROM dwd_orders GROUP BY 2", "E0228"),
            ("INTO listed (n) AS SELECT count(*) FROM dwd_orders GROUP BY product", "E0227"),
            ("INTO dwd_orders AS SELECT product, product FROM mv_table", "E0204"),
        ):
            with pytest.raises(FloodmarkError) as refused:
                fm.execute(f"CREATE SINK refused {query}")
            assert refused.value.code == code, refused.value
        fm.execute("CREATE TABLE bag (product VARCHAR, n BIGINT)")
        with pytest.raises(FloodmarkError, match="E0226"):
            fm.execute("CREATE SINK refused INTO bag FROM mv_table")
        order(fm, ("ann", "nut", 5, "10:20"))
        assert rows_of(fm, "SELECT note, n FROM listed") == [("none", 3)]
