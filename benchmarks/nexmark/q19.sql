-- The ten highest bids of each auction.
CREATE MATERIALIZED VIEW q19 AS
SELECT *
FROM (
    SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS place
    FROM bid
) AS q
WHERE place <= 10;
