-- What is known of planes, airlines and airports; later rows replace earlier ones by key.

CREATE TABLE planes (
    tailnum VARCHAR PRIMARY KEY,
    year INT,
    manufacturer VARCHAR,
    model VARCHAR,
    seats INT
) WITH (connector = 'files', path = 'landing/planes') FORMAT PLAIN ENCODE CSV;

CREATE TABLE airlines (
    carrier VARCHAR PRIMARY KEY,
    name VARCHAR
) WITH (connector = 'files', path = 'landing/airlines') FORMAT PLAIN ENCODE CSV;

CREATE TABLE airports (
    faa VARCHAR PRIMARY KEY,
    name VARCHAR,
    tzone VARCHAR
) WITH (connector = 'files', path = 'landing/airports') FORMAT PLAIN ENCODE CSV;

-- Routes that somebody keeps an eye on: a sink counts their late departures, people add notes.
CREATE TABLE watched_routes (
    origin VARCHAR,
    dest VARCHAR,
    late_departures BIGINT,
    note VARCHAR DEFAULT 'counted',
    PRIMARY KEY (origin, dest)
);

-- One wide row per airport and hour. Three sinks fill it, each its own columns, as their streams
-- come: no join, and no hour waits for another stream.
CREATE TABLE airport_hours (
    origin VARCHAR,
    hour TIMESTAMP,
    departures BIGINT,
    departure_delay NUMERIC(38, 16),
    arrivals BIGINT,
    arrival_delay NUMERIC(38, 16),
    temp DOUBLE,
    wind_speed DOUBLE,
    visib DOUBLE,
    PRIMARY KEY (origin, hour)
) ON CONFLICT DO UPDATE IF NOT NULL;
