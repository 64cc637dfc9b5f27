-- The SQL of the texts that this language grew from, with their slips corrected.
CREATE SOURCE sales_staff (data BYTEA) WITH (connector = 'kafka') FORMAT BYTES
TRANSFORM USING (
    SELECT
        (data->>'id')::int AS id,
        (data->>'name')::text AS name
    FROM
        (SELECT CONVERT_FROM(data, 'utf8')::jsonb as data FROM sales_staff)
    WHERE
        (data->>'department')::text = 'sales'
);
CREATE SOURCE orders_30d (created_at TIMESTAMP) WITH (connector = 'kafka')
INCLUDE INGESTION TIMESTAMP as ingest_ts
TRANSFORM USING (
    SELECT * FROM orders_30d
    WHERE mz_now() <= ingest_ts + '30 days'
);
CREATE SOURCE pg_source WITH (connector = 'postgres')
FOR TABLES (
   orders TRANSFORM USING (SELECT id, item FROM orders),
   customers TRANSFORM USING (SELECT id, name FROM customers) AS customer_data,
);
CREATE TABLE clicks (
    uid VARCHAR(128),
    cTime TIMESTAMP(3),
    url VARCHAR(256)
);
SELECT * FROM clicks
WHERE cTime BETWEEN TIMESTAMPADD('MINUTE', -2, CURRENT_TIMESTAMP) AND CURRENT_TIMESTAMP;
SELECT UUID() AS uuid, * FROM clicks LIMIT 3;
SELECT CURRENT_TIMESTAMP, * FROM clicks;
INSERT INTO t_join_sink
SELECT o.order_id, o.order_name, l.logistics_id, l.logistics_target, l.logistics_source, now()
FROM t_order AS o
LEFT JOIN t_logistics AS l ON ord.order_id=logistics.order_id;
insert into sink_with_pk
select t1.a, t1.b, t2.c
from (
  select *, proctime() proctime from cdc
) t1
join dim_with_pk for system_time as of t1.proctime as t2
   on t1.a = t2.a;
select random() as rd, v*2 as vv, pk from t;
CREATE SOURCE dwd_click_events (
    user VARCHAR,
    product VARCHAR,
    event_time TIMESTAMP
) WITH (
    'connector.type' = 'kafka',
);
CREATE TABLE dwd_orders (
    user VARCHAR,
    product VARCHAR,
    price BIGINT,
    event_time TIMESTAMP
) WITH (
    'connector.type' = 'kafka'
);
CREATE TABLE dws_product_per_hour (
  hour TIMESTAMP,
  product VARCHAR,
  click_cnt BIGINT,
  sell_cnt BIGINT,
  PRIMARY KEY (hour, product)
) WITH (
  'ttl' = '7d'
) ON CONFLICT PARTIAL UPDATE;
CREATE SINK click_production_analyze_per_hour_job INTO dws_product_per_hour AS
SELECT
  window_start,
  product,
  COUNT(*),
  NULL as sell_cnt
FROM TUMBLE(dwd_click_events, event_time, INTERVAL '1' HOUR)
GROUP BY window_start, product;
CREATE SOURCE dwd_user_behavior_with_watermark (
    user VARCHAR,
    product VARCHAR,
    price BIGINT,
    event_time TIMESTAMP,
    behavior VARCHAR,
    WATERMARK FOR event_time AS event_time - INTERVAL '5' SECOND
) WITH (
    'connector.type' = 'kafka'
);
CREATE TABLE dws_per_hour (
  hour TIMESTAMP PRIMARY KEY,
  buy_cnt BIGINT,
  sell_cnt BIGINT)
WITH (
  'ttl' = '7d'
);
CREATE SINK events_analyze_per_hour_job INTO dws_per_hour AS
SELECT
  window_start,
  COUNT(*) filter(where behavior = 'buy'),
  COUNT(*) filter(where behavior = 'sell')
FROM TUMBLE(dwd_user_behavior_with_watermark, event_time, INTERVAL '1' HOUR)
GROUP BY window_start;
INSERT INTO dws_per_hour
SELECT
  window_start,
  COUNT(*) filter(where behavior = 'buy'),
  COUNT(*) filter(where behavior = 'sell')
FROM TUMBLE(dwd_user_behavior_with_watermark, event_time, INTERVAL '1' HOUR)
WHERE DAY(event_time) = '${1-days-ago}'
GROUP BY window_start;
CREATE TABLE dwd_orders (
    user VARCHAR,
    event_time TIMESTAMP
) APPEND ONLY;
CREATE TABLE dws_product (
  product VARCHAR,
  order_cnt BIGINT,
  PRIMARY KEY (product)
) WITH (
  'ttl' = '7d'
  -- only update when the new incoming row's order_cnt is larger than the old order_cnt
) ON CONFLICT DO UPDATE SET (product, order_cnt) = (
      CASE WHEN EXCLUDED.order_cnt IS NOT NULL AND EXCLUDED.order_cnt > order_cnt
        THEN EXCLUDED.product ELSE product
      END,
      CASE WHEN EXCLUDED.order_cnt IS NOT NULL AND EXCLUDED.order_cnt > order_cnt
        THEN EXCLUDED.order_cnt ELSE order_cnt
      END);
CREATE SINK order_production_analyze_job INTO dws_product AS
SELECT
  window_start,
  product,
  COUNT(*) as order_cnt
FROM dwd_orders
GROUP BY product
WITH (
  force_append_only = 'true'
);
ALTER TABLE dws_product ADD sell_sum BIGINT ON CONFLICT DO UPDATE SET
  sell_cnt = CASE WHEN EXCLUDED.order_cnt IS NOT NULL AND EXCLUDED.order_cnt > order_cnt
                  THEN EXCLUDED.sell_sum ELSE sell_sum
             END;
DROP SINK order_production_analyze_job;
ALTER SINK new_order_production_analyze_job RENAME TO order_production_analyze_job;
CREATE TABLE dws_product_per_hour (
  hour TIMESTAMP,
  product VARCHAR,
  order_cnt BIGINT,
  PRIMARY KEY (hour, product)
) WITH (
  'ttl' = '7d'
) ON CONFLICT DO UPSERT;
ALTER TABLE dws_product_per_hour ADD column sql_version int default 0;
ALTER TABLE dws_product_per_hour ON CONFLICT DO UPDATE
  SET (hour, product, order_cnt, sell_sum, sql_version) = (
    CASE WHEN EXCLUDED.sql_version = 0 AND hour < '2020-10-10 00:00:00'
        THEN (EXCLUDED.hour,EXCLUDED.product,EXCLUDED.order_cnt,EXCLUDED.sell_sum,EXCLUDED.sql_version)
      WHEN EXCLUDED.sql_version = 1 AND hour >= '2020-10-10 00:00:00'
        THEN (EXCLUDED.hour,EXCLUDED.product,EXCLUDED.order_cnt,EXCLUDED.sell_sum,EXCLUDED.sql_version)
      -- do not update
      ELSE (hour, product, order_cnt, sell_sum, sql_version)
    END);
CREATE SINK new_order_production_analyze_per_hour_job INTO dws_product_per_hour AS
SELECT
  window_start,
  product,
  COUNT(*) as order_cnt,
  sum(price) as sell_sum,
  1 as sql_version
FROM TUMBLE(dwd_orders, order_time, INTERVAL '1' HOUR)
-- omit unnecessary historical data
WHERE window_start >= '2010-10-10 00:00:00'
GROUP BY window_start, product
WITH (
  force_append_only = 'true'
);
ALTER SINK order_production_analyze_per_hour_job AS SELECT
  window_start,
  product,
  COUNT(*) as order_cnt
FROM TUMBLE(dwd_orders, order_time, INTERVAL '1' HOUR)
WHERE window_start < '2010-10-10 00:00:00'
GROUP BY window_start, product
WITH (
  force_append_only = 'true'
);
CREATE SINK sink_name INTO table_name (a, b) AS SELECT 1, 2;
CREATE TABLE table_name AS SELECT 1 AS a;
ALTER MATERIALIZED VIEW mv_table TO TABLE;
