-- Log to a file system: bids with the columns that partition them.
CREATE MATERIALIZED VIEW q10 AS
SELECT auction, bidder, price, date_time, extra,
    to_char(date_time, 'YYYY-MM-DD') AS dt, to_char(date_time, 'HH24:MI') AS hm
FROM bid;
