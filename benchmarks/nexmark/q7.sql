-- Highest bid: the bids with the highest price of each 10 s.
CREATE MATERIALIZED VIEW q7 AS
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra
FROM bid AS b
JOIN (
    SELECT max(price) AS maxprice, window_end
    FROM TUMBLE(bid, date_time, INTERVAL '10' SECOND)
    GROUP BY window_end
) AS b1
ON b.price = b1.maxprice
WHERE b.date_time BETWEEN b1.window_end - INTERVAL '10' SECOND AND b1.window_end;
