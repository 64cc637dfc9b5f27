-- Hot items: the auctions with most bids in each window of 10 s, every 2 s.
CREATE MATERIALIZED VIEW q5 AS
SELECT auction_bids.auction, auction_bids.num
FROM (
    SELECT auction, count(*) AS num, window_start, window_end
    FROM HOP(bid, date_time, INTERVAL '2' SECOND, INTERVAL '10' SECOND)
    GROUP BY auction, window_start, window_end
) AS auction_bids
JOIN (
    SELECT max(count_bids.num) AS maxn, count_bids.window_start, count_bids.window_end
    FROM (
        SELECT count(*) AS num, window_start, window_end
        FROM HOP(bid, date_time, INTERVAL '2' SECOND, INTERVAL '10' SECOND)
        GROUP BY auction, window_start, window_end
    ) AS count_bids
    GROUP BY count_bids.window_start, count_bids.window_end
) AS max_bids
ON auction_bids.window_start = max_bids.window_start
    AND auction_bids.window_end = max_bids.window_end
    AND auction_bids.num >= max_bids.maxn;
