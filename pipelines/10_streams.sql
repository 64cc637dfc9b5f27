-- What the three New York airports report, as it happens. The event time is the scheduled time, so
-- that a flight which leaves four hours late comes four hours behind its event time.

-- Every departure, and every cancelled flight at its scheduled time.
CREATE SOURCE departures (
    flight_id BIGINT,
    carrier VARCHAR,
    flight INT,
    tailnum VARCHAR,
    origin VARCHAR,
    dest VARCHAR,
    scheduled_at TIMESTAMP,
    departed_at TIMESTAMP,
    dep_delay INT,
    distance INT,
    cancelled BOOLEAN,
    WATERMARK FOR scheduled_at AS scheduled_at - INTERVAL '3 hours'
) WITH (
    connector = 'files',
    path = 'landing/departures',
    max_rows_per_epoch = 7500
) FORMAT PLAIN ENCODE PARQUET;

-- Every arrival, in order of arrival.
CREATE SOURCE arrivals (
    flight_id BIGINT,
    carrier VARCHAR,
    flight INT,
    tailnum VARCHAR,
    origin VARCHAR,
    dest VARCHAR,
    scheduled_at TIMESTAMP,
    arrived_at TIMESTAMP,
    arr_delay INT,
    air_time INT,
    WATERMARK FOR scheduled_at AS scheduled_at - INTERVAL '3 hours'
) WITH (
    connector = 'files',
    path = 'landing/arrivals',
    max_rows_per_epoch = 7500
) FORMAT PLAIN ENCODE PARQUET;

-- Hourly weather, as JSON lines; one of them is cut off.
CREATE SOURCE weather (
    origin VARCHAR NOT NULL,
    observed_at TIMESTAMP,
    temp DOUBLE,
    humid DOUBLE,
    wind_speed DOUBLE,
    precip DOUBLE,
    visib DOUBLE,
    WATERMARK FOR observed_at AS observed_at - INTERVAL '3 hours'
) WITH (
    connector = 'files',
    path = 'landing/weather',
    max_rows_per_epoch = 1300
) FORMAT PLAIN ENCODE JSON;
