"""The SQL of the proposal for sinks into tables, each example of it, on rows of the test.

What is corrected in the examples, everywhere: `connector = 'kafka'` (files, or a table that takes
INSERT), a comma behind the last column of a list, `order_time` (the column is `event_time`), a
missing semicolon, a sum of BIGINT for a BIGINT column (a sum is NUMERIC: it is cast). What is
corrected in one of them stands beside it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from warehouses import Site

from floodmark.api import Floodmark
from floodmark.errors import FloodmarkError

pytestmark = pytest.mark.spark

TTL = "WITH ('ttl' = '7d')"
WITH_AND_WITHOUT_TTL = pytest.mark.parametrize("ttl", ["", TTL], ids=["kept", "ttl"])
ORDERS = """
CREATE TABLE dwd_orders (
    user VARCHAR,
    product VARCHAR,
    price BIGINT,
    event_time TIMESTAMP
){more};
"""


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


@WITH_AND_WITHOUT_TTL
def test_several_streams_into_one_wide_table(site: Site, ttl: str) -> None:
    site.define(
        """
        CREATE SOURCE dwd_click_events (
            user VARCHAR,
            product VARCHAR,
            event_time TIMESTAMP
        ) WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON;
        """,
        ORDERS.replace("{more}", ""),
        """
        CREATE TABLE dws_product_per_hour (
          hour TIMESTAMP,
          product VARCHAR,
          click_cnt BIGINT,
          sell_cnt BIGINT,
          PRIMARY KEY (hour, product)
        ) {ttl} ON CONFLICT PARTIAL UPDATE;

        CREATE SINK click_production_analyze_per_hour_job INTO dws_product_per_hour AS
        SELECT
          window_start,
          product,
          COUNT(*),
          NULL as sell_cnt
        FROM TUMBLE(dwd_click_events, event_time, INTERVAL '1' HOUR)
        GROUP BY window_start, product;

        CREATE SINK order_production_analyze_per_hour_job INTO dws_product_per_hour AS
        SELECT
          window_start,
          product,
          NULL as click_cnt,
          COUNT(*)
        FROM TUMBLE(dwd_orders, event_time, INTERVAL '1' HOUR)
        GROUP BY window_start, product;
        """.replace("{ttl}", ttl),
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
def test_results_that_statements_correct(site: Site, ttl: str) -> None:
    """Corrected: `DAY(event_time) = '${1-days-ago}'` is extract(day FROM …) = a number."""
    site.define(
        """
        CREATE SOURCE dwd_user_behavior_with_watermark (
            user VARCHAR,
            product VARCHAR,
            price BIGINT,
            event_time TIMESTAMP,
            behavior VARCHAR,
            WATERMARK FOR event_time AS event_time - INTERVAL '5' SECOND
        ) WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON;

        CREATE TABLE dwd_user_behavior (
            user VARCHAR,
            product VARCHAR,
            price BIGINT,
            event_time TIMESTAMP,
            behavior VARCHAR
        ) WITH (connector = 'files', path = '{landing}'{ttl30}) FORMAT PLAIN ENCODE JSON;

        CREATE TABLE dws_per_hour (
          hour TIMESTAMP PRIMARY KEY,
          buy_cnt BIGINT,
          sell_cnt BIGINT
        ) {ttl};

        CREATE SINK events_analyze_per_hour_job INTO dws_per_hour AS
        SELECT
          window_start,
          COUNT(*) filter(where behavior = 'buy'),
          COUNT(*) filter(where behavior = 'sell')
        FROM TUMBLE(dwd_user_behavior_with_watermark, event_time, INTERVAL '1' HOUR)
        GROUP BY window_start;
        """.replace("{ttl30}", ", 'ttl' = '30d'" if ttl else "").replace("{ttl}", ttl),
    )
    did = [("10:00:00", "buy"), ("10:30:00", "sell"), ("11:00:00", "buy"), ("10:59:00", "buy")]
    events = [
        {
            "user": "ann",
            "product": "nut",
            "price": 1,
            "event_time": f"2020-10-09T{t}",
            "behavior": b,
        }
        for t, b in did
    ]
    corrected = """
        INSERT INTO dws_per_hour
        SELECT
          window_start,
          COUNT(*) filter(where behavior = 'buy'),
          COUNT(*) filter(where behavior = 'sell')
        FROM TUMBLE({}, event_time, INTERVAL '1' HOUR)
        WHERE extract(day FROM event_time) = 9
        GROUP BY window_start"""
    counts = "SELECT to_char(hour, 'HH24'), buy_cnt, sell_cnt FROM dws_per_hour ORDER BY 1"
    with site.connect() as fm:
        land(site.landing, "1", events)
        fm.advance()
        late = [("10", 1, 1), ("11", 1, 0)]
        assert rows_of(fm, counts) == late
        fm.execute(corrected.format("dwd_user_behavior_with_watermark"))
        assert rows_of(fm, counts) == late
        fm.execute(corrected.format("dwd_user_behavior"))
        assert rows_of(fm, counts) == [("10", 2, 1), ("11", 1, 0)]


PER_PRODUCT = """
CREATE TABLE dws_product (
  product VARCHAR,
  order_cnt BIGINT,
  PRIMARY KEY (product)
) {ttl} ON CONFLICT DO UPDATE SET (product, order_cnt) = (
      CASE WHEN EXCLUDED.order_cnt IS NOT NULL AND EXCLUDED.order_cnt > order_cnt
        THEN EXCLUDED.product ELSE product
      END,
      CASE WHEN EXCLUDED.order_cnt IS NOT NULL AND EXCLUDED.order_cnt > order_cnt
        THEN EXCLUDED.order_cnt ELSE order_cnt
      END);

CREATE SINK order_production_analyze_job INTO dws_product AS
SELECT
  product,
  COUNT(*) as order_cnt
FROM dwd_orders
GROUP BY product
WITH (
  force_append_only = 'true'
);
"""


@WITH_AND_WITHOUT_TTL
def test_backfill_with_a_conflict_behaviour_that_does_not_go_back(site: Site, ttl: str) -> None:
    """Corrected: `window_start`, which is neither in dwd_orders nor in the table, is left out, of
    `THEN EXCLUDED.order_cnt, order_cnt` the second; the later clause sets sell_sum, not sell_cnt,
    and goes on with order_cnt; the new sink counts the same orders, so that >= takes its sums.
    """
    site.define()
    with site.connect() as fm:
        fm.execute_script(ORDERS.replace("{more}", " APPEND ONLY"))
        fm.execute_script(PER_PRODUCT.replace("{ttl}", ttl))
        order(
            fm, ("ann", "nut", 5, "10:10"), ("bob", "nut", 6, "10:20"), ("bob", "pin", 1, "10:30")
        )
        order(fm, ("cid", "nut", 7, "11:10"))
        found = "SELECT product, order_cnt{} FROM dws_product ORDER BY 1"
        assert rows_of(fm, found.format("")) == [("nut", 3), ("pin", 1)]
        fm.execute(
            """
            ALTER TABLE dws_product ADD sell_sum BIGINT ON CONFLICT DO UPDATE SET
              order_cnt = CASE WHEN EXCLUDED.order_cnt > order_cnt
                               THEN EXCLUDED.order_cnt ELSE order_cnt END,
              sell_sum = CASE WHEN EXCLUDED.order_cnt IS NOT NULL
                                   AND EXCLUDED.order_cnt >= order_cnt
                              THEN EXCLUDED.sell_sum ELSE sell_sum
                         END"""
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
        fm.execute("DROP SINK order_production_analyze_job")
        fm.execute(
            "ALTER SINK new_order_production_analyze_job RENAME TO order_production_analyze_job"
        )
        summed = found.format(", sell_sum")
        assert rows_of(fm, summed) == [("nut", 3, 18), ("pin", 1, 1)]
        order(fm, ("ann", "pin", 9, "12:00"))
        assert rows_of(fm, summed) == [("nut", 3, 18), ("pin", 2, 10)]
        assert [r[0] for r in rows_of(fm, "SHOW SINKS")] == ["order_production_analyze_job"]


PER_HOUR = """
CREATE TABLE dws_product_per_hour (
  hour TIMESTAMP,
  product VARCHAR,
  order_cnt BIGINT,
  PRIMARY KEY (hour, product)
) {ttl} ON CONFLICT DO UPSERT;

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
def test_apply_delta_with_a_version_of_the_query(site: Site, ttl: str) -> None:
    """Corrected: `ALTER TABLE ON CONFLICT` names no table, `ALTER TABLE dws_product` another one;
    the day from which the new query counts is the same everywhere: 2020-10-10.
    """
    site.define()
    with site.connect() as fm:
        fm.execute_script(ORDERS.replace("{more}", "") + PER_HOUR.replace("{ttl}", ttl))
        order_two_days(fm)
        fm.execute("ALTER TABLE dws_product_per_hour ADD sell_sum BIGINT")
        fm.execute("ALTER TABLE dws_product_per_hour ADD column sql_version int default 0")
        fm.execute(
            """
            ALTER TABLE dws_product_per_hour ON CONFLICT DO UPDATE
              SET (hour, product, order_cnt, sell_sum, sql_version) = (
                CASE WHEN EXCLUDED.sql_version = 0 AND hour < '2020-10-10 00:00:00'
                    THEN (EXCLUDED.hour,EXCLUDED.product,EXCLUDED.order_cnt,EXCLUDED.sell_sum,
                          EXCLUDED.sql_version)
                  WHEN EXCLUDED.sql_version = 1 AND hour >= '2020-10-10 00:00:00'
                    THEN (EXCLUDED.hour,EXCLUDED.product,EXCLUDED.order_cnt,EXCLUDED.sell_sum,
                          EXCLUDED.sql_version)
                  -- do not update
                  ELSE (hour, product, order_cnt, sell_sum, sql_version)
                END)"""
        )
        fm.execute(
            """
            CREATE SINK new_order_production_analyze_per_hour_job INTO dws_product_per_hour AS
            SELECT
              window_start,
              product,
              COUNT(*) as order_cnt,
              sum(price)::bigint as sell_sum,
              1 as sql_version
            FROM TUMBLE(dwd_orders, event_time, INTERVAL '1' HOUR)
            -- omit unnecessary historical data
            WHERE window_start >= '2020-10-10 00:00:00'
            GROUP BY window_start, product
            WITH (
              force_append_only = 'true'
            )"""
        )
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
def test_apply_delta_with_another_query_of_the_sink(site: Site, ttl: str) -> None:
    """Corrected: WHERE stands before GROUP BY; the table and the day as above."""
    site.define()
    with site.connect() as fm:
        fm.execute_script(ORDERS.replace("{more}", "") + PER_HOUR.replace("{ttl}", ttl))
        order_two_days(fm)
        fm.execute("ALTER TABLE dws_product_per_hour ADD sell_sum BIGINT")
        fm.execute(
            """
            ALTER SINK order_production_analyze_per_hour_job AS SELECT
              window_start,
              product,
              COUNT(*) as order_cnt
            FROM TUMBLE(dwd_orders, event_time, INTERVAL '1' HOUR)
            WHERE window_start < '2020-10-10 00:00:00'
            GROUP BY window_start, product
            WITH (
              force_append_only = 'true'
            )"""
        )
        fm.execute(
            """
            CREATE SINK new_order_production_analyze_per_hour_job INTO dws_product_per_hour AS
            SELECT
              window_start,
              product,
              COUNT(*) as order_cnt,
              sum(price)::bigint as sell_sum
            FROM TUMBLE(dwd_orders, event_time, INTERVAL '1' HOUR)
            WHERE window_start >= '2020-10-10 00:00:00'
            GROUP BY window_start, product
            WITH (
              force_append_only = 'true'
            )"""
        )
        order(fm, ("ann", "nut", 8, "10:30"), ("ann", "nut", 9, "10 10:30"))
        assert rows_of(fm, HOURS.format("", "dws_product_per_hour")) == [
            ("09 10", "nut", 3, None), ("10 10", "nut", 2, 16),
        ]  # fmt: skip


def test_a_sink_of_some_columns_and_a_table_of_a_query(site: Site) -> None:
    """The forms that the text describes: column lists, CREATE TABLE AS, a view made a table."""
    site.define()
    with site.connect() as fm:
        fm.execute_script(ORDERS.replace("{more}", ""))
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
