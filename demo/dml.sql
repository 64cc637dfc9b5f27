-- What people change by hand after the streams have been taken in.
INSERT INTO watched_routes VALUES ('JFK', 'XXX', 0, 'a new route, from summer on');
UPDATE watched_routes SET note = 'ask the tower' WHERE origin = 'EWR' AND late_departures >= 40;
DELETE FROM watched_routes WHERE late_departures < 3 AND note = 'counted';
