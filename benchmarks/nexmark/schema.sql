-- The three tables of Nexmark as folders of Parquet files; benchmarks/nexmark/data.py writes them.
CREATE SOURCE person (
    id BIGINT, name VARCHAR, email_address VARCHAR, credit_card VARCHAR, city VARCHAR,
    state VARCHAR, date_time TIMESTAMP, extra VARCHAR,
    WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (connector = 'files', path = 'person') FORMAT PLAIN ENCODE PARQUET;

CREATE SOURCE auction (
    id BIGINT, item_name VARCHAR, description VARCHAR, initial_bid BIGINT, reserve BIGINT,
    date_time TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra VARCHAR,
    WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (connector = 'files', path = 'auction') FORMAT PLAIN ENCODE PARQUET;

CREATE SOURCE bid (
    auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR,
    date_time TIMESTAMP, extra VARCHAR,
    WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (connector = 'files', path = 'bid') FORMAT PLAIN ENCODE PARQUET;

-- What q13 looks up.
CREATE TABLE side_input (key BIGINT PRIMARY KEY, value VARCHAR)
WITH (connector = 'files', path = 'side_input') FORMAT PLAIN ENCODE PARQUET;
