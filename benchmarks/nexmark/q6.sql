-- Average selling price of a seller: over the winning bids of the last 11 auctions.
CREATE MATERIALIZED VIEW q6 AS
SELECT q.seller, q.date_time, avg(q.final) OVER (
    PARTITION BY q.seller ORDER BY q.date_time, q.id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW
) AS average
FROM (
    SELECT a.id, a.seller, b.price AS final, b.date_time, row_number() OVER (
        PARTITION BY a.id, a.seller ORDER BY b.price DESC, b.date_time
    ) AS place
    FROM auction AS a, bid AS b
    WHERE a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
) AS q
WHERE q.place <= 1;
