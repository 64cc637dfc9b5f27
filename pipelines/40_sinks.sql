-- Sinks: queries that write into tables.

CREATE SINK late_departures INTO watched_routes (origin, dest, late_departures) AS
SELECT origin, dest, count(*)
FROM departures
WHERE dep_delay > 60
GROUP BY origin, dest;

-- What an hour's departures were, once they are final ...
CREATE SINK departures_by_hour INTO airport_hours (hour, origin, departures, departure_delay)
FROM hourly_departures;

-- ... how its flights arrived, so far ...
CREATE SINK arrivals_by_hour INTO airport_hours (hour, origin, arrivals, arrival_delay) AS
SELECT window_start, origin, count(*), avg(arr_delay)
FROM TUMBLE(arrivals, scheduled_at, INTERVAL '1 hour')
GROUP BY window_start, origin;

-- ... and the weather.
CREATE SINK weather_by_hour INTO airport_hours (hour, origin, temp, wind_speed, visib) AS
SELECT observed_at, origin, temp, wind_speed, visib
FROM weather;

-- The routes with the most late departures, notes included.
CREATE MATERIALIZED VIEW troubled_routes AS
SELECT w.origin, w.dest, p.name AS destination, w.late_departures, w.note
FROM watched_routes w
LEFT JOIN airports p ON w.dest = p.faa
WHERE w.late_departures >= 50 OR w.note <> 'counted';
