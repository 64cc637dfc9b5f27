-- Sinks: queries that write into tables.

CREATE SINK late_departures INTO watched_routes (origin, dest, late_departures) AS
SELECT origin, dest, count(*)
FROM departures
WHERE dep_delay > 60
GROUP BY origin, dest;

-- The routes with the most late departures, notes included.
CREATE MATERIALIZED VIEW troubled_routes AS
SELECT w.origin, w.dest, p.name AS destination, w.late_departures, w.note
FROM watched_routes w
LEFT JOIN airports p ON w.dest = p.faa
WHERE w.late_departures >= 50 OR w.note <> 'counted';
