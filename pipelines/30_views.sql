-- What people ask of the streams. Each view is kept up to date by what an epoch changes.

-- Departures that left, with how late they were in words.
CREATE MATERIALIZED VIEW departed AS
SELECT flight_id, carrier, flight, origin, dest, scheduled_at, dep_delay,
       CASE WHEN dep_delay > 60 THEN 'very late' WHEN dep_delay > 15 THEN 'late' ELSE 'on time' END
           AS punctuality
FROM departures
WHERE NOT cancelled;

-- Every departure with its airline and plane; planes that nobody registered stay without one.
CREATE MATERIALIZED VIEW departures_enriched AS
SELECT d.flight_id, d.scheduled_at, d.origin, d.dest, a.name AS airline,
       p.manufacturer, p.model, p.seats, d.dep_delay
FROM departures d
JOIN airlines a ON d.carrier = a.carrier
LEFT JOIN planes p ON d.tailnum = p.tailnum;

-- Delays by carrier and destination.
CREATE MATERIALIZED VIEW route_delays AS
SELECT carrier, dest, count(*) AS departures, count(dep_delay) AS departed,
       avg(dep_delay) AS mean_delay, max(dep_delay) AS worst_delay
FROM departures
GROUP BY carrier, dest;

-- The same over all destinations, from the view above.
CREATE MATERIALIZED VIEW carrier_delays AS
SELECT r.carrier, sum(r.departures) AS departures, count(*) AS destinations,
       max(r.worst_delay) AS worst_delay
FROM route_delays r
GROUP BY r.carrier;

-- Departures and mean delay per origin and hour, each hour once and final.
CREATE MATERIALIZED VIEW hourly_departures AS
SELECT window_start, origin, count(*) AS departures, avg(dep_delay) AS mean_delay
FROM TUMBLE(departures, scheduled_at, INTERVAL '1 hour')
GROUP BY window_start, origin
EMIT ON WINDOW CLOSE;

-- Minutes gained or lost in the air; a flight without an air time divides by nothing.
CREATE MATERIALIZED VIEW arrivals_by_dest AS
SELECT dest, count(*) AS arrivals, avg(arr_delay) AS mean_delay, sum(air_time) AS minutes_in_the_air
FROM arrivals
GROUP BY dest;
