-- Bids of a person in windows of 10 s, of event time.
CREATE MATERIALIZED VIEW q12 AS
SELECT bidder, count(*) AS bid_count, window_start, window_end
FROM TUMBLE(bid, date_time, INTERVAL '10' SECOND)
GROUP BY bidder, window_start, window_end;
