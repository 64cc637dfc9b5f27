-- The maximum is grouped by the window itself: its start and end have no watermark.
SELECT auction_bids.auction, auction_bids.num
FROM (
    SELECT auction, count(*) AS num, window AS w
    FROM bid GROUP BY auction, window(date_time, '10 seconds', '2 seconds')
) AS auction_bids
JOIN (
    SELECT max(count_bids.num) AS maxn, count_bids.w
    FROM (
        SELECT count(*) AS num, window AS w
        FROM bid GROUP BY auction, window(date_time, '10 seconds', '2 seconds')
    ) AS count_bids
    GROUP BY count_bids.w
) AS max_bids
ON auction_bids.w = max_bids.w AND auction_bids.num >= max_bids.maxn
