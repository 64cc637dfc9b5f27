-- Which airlines leave late?
SELECT a.name AS airline, c.departures, c.destinations, c.worst_delay AS worst_delay_minutes
FROM carrier_delays c JOIN airlines a ON c.carrier = a.carrier
ORDER BY c.worst_delay DESC LIMIT 5;
-- Which hours were the worst to leave New York, how late did they arrive, and was it the weather?
SELECT hour, origin, departures, round(departure_delay, 1) AS departure_delay,
       round(arrival_delay, 1) AS arrival_delay, wind_speed AS wind, visib AS visibility
FROM airport_hours WHERE departures >= 10
ORDER BY departure_delay DESC NULLS LAST LIMIT 5;
-- Which routes does somebody have to look at?
SELECT origin, dest, destination, late_departures, note
FROM troubled_routes ORDER BY late_departures DESC LIMIT 5;
