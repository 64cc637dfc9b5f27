-- The eight tables, which follow Delta tables of another program; benchmarks/tpch/lake.py writes those.
CREATE TABLE region (r_regionkey INT PRIMARY KEY, r_name VARCHAR, r_comment VARCHAR)
WITH (connector = 'delta', path = 'region', mode = 'change_feed');

CREATE TABLE nation (
    n_nationkey INT PRIMARY KEY, n_name VARCHAR, n_regionkey INT, n_comment VARCHAR
) WITH (connector = 'delta', path = 'nation', mode = 'change_feed');

CREATE TABLE supplier (
    s_suppkey BIGINT PRIMARY KEY, s_name VARCHAR, s_address VARCHAR, s_nationkey INT,
    s_phone VARCHAR, s_acctbal NUMERIC(15, 2), s_comment VARCHAR
) WITH (connector = 'delta', path = 'supplier', mode = 'change_feed');

CREATE TABLE customer (
    c_custkey BIGINT PRIMARY KEY, c_name VARCHAR, c_address VARCHAR, c_nationkey INT,
    c_phone VARCHAR, c_acctbal NUMERIC(15, 2), c_mktsegment VARCHAR, c_comment VARCHAR
) WITH (connector = 'delta', path = 'customer', mode = 'change_feed');

CREATE TABLE part (
    p_partkey BIGINT PRIMARY KEY, p_name VARCHAR, p_mfgr VARCHAR, p_brand VARCHAR, p_type VARCHAR,
    p_size INT, p_container VARCHAR, p_retailprice NUMERIC(15, 2), p_comment VARCHAR
) WITH (connector = 'delta', path = 'part', mode = 'change_feed');

CREATE TABLE partsupp (
    ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty BIGINT, ps_supplycost NUMERIC(15, 2),
    ps_comment VARCHAR, PRIMARY KEY (ps_partkey, ps_suppkey)
) WITH (connector = 'delta', path = 'partsupp', mode = 'change_feed');

CREATE TABLE orders (
    o_orderkey BIGINT PRIMARY KEY, o_custkey BIGINT, o_orderstatus VARCHAR,
    o_totalprice NUMERIC(15, 2), o_orderdate DATE, o_orderpriority VARCHAR, o_clerk VARCHAR,
    o_shippriority INT, o_comment VARCHAR
) WITH (connector = 'delta', path = 'orders', mode = 'change_feed');

CREATE TABLE lineitem (
    l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber BIGINT,
    l_quantity NUMERIC(15, 2), l_extendedprice NUMERIC(15, 2), l_discount NUMERIC(15, 2),
    l_tax NUMERIC(15, 2), l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE,
    l_commitdate DATE, l_receiptdate DATE, l_shipinstruct VARCHAR, l_shipmode VARCHAR,
    l_comment VARCHAR, PRIMARY KEY (l_orderkey, l_linenumber)
) WITH (connector = 'delta', path = 'lineitem', mode = 'change_feed');
