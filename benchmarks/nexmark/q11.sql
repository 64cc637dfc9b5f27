-- User sessions: how many bids a person makes until 10 s pass without one.
CREATE MATERIALIZED VIEW q11 AS
SELECT bidder, count(*) AS bid_count, window_start, window_end
FROM SESSION(bid, date_time, INTERVAL '10' SECOND, bidder)
GROUP BY bidder, window_start, window_end;
