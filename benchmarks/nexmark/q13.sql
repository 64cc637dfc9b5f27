-- Bounded side input: each bid with a value looked up.
CREATE MATERIALIZED VIEW q13 AS
SELECT b.auction, b.bidder, b.price, b.date_time, s.value
FROM bid AS b JOIN side_input FOR SYSTEM_TIME AS OF PROCTIME() AS s
ON mod(b.auction, 10000) = s.key;
