"""Queries in the SQL that Flink and Floodmark share, and what each of them makes of one.

`RAND()`, `UUID()` and `NOW()` are written as Flink does; `@t` stands for "as of the processing
time of t". The queries are in `shapes.txt`: name, sink, query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FLOODMARK_SETUP = """
CREATE SOURCE cdc (id INT PRIMARY KEY, k INT, v INT, d DOUBLE PRECISION, ts TIMESTAMPTZ,
    m TIMESTAMPTZ METADATA FROM 'timestamp')
    WITH (connector = 'files', path = 'c') FORMAT DEBEZIUM ENCODE JSON;
CREATE SOURCE cdc2 (id INT PRIMARY KEY, k INT, v INT, d DOUBLE PRECISION, ts TIMESTAMPTZ,
    m TIMESTAMPTZ METADATA FROM 'timestamp')
    WITH (connector = 'files', path = 'c2') FORMAT DEBEZIUM ENCODE JSON;
CREATE TABLE nopk (k INT, v INT, d DOUBLE PRECISION);
CREATE SOURCE ups (id INT PRIMARY KEY, k INT, v INT, d DOUBLE PRECISION,
    m TIMESTAMPTZ METADATA FROM 'timestamp')
    WITH (connector = 'files', path = 'u') FORMAT UPSERT ENCODE JSON;
CREATE SOURCE app (id INT, k INT, v INT, d DOUBLE PRECISION, ts TIMESTAMPTZ)
    WITH (connector = 'files', path = 'a') FORMAT PLAIN ENCODE JSON;
CREATE TABLE dim (k INT PRIMARY KEY, n INT);
CREATE TABLE dim0 (k INT, n INT);
CREATE TABLE s_x (id INT PRIMARY KEY, x DOUBLE PRECISION);
CREATE TABLE s_y (id INT PRIMARY KEY, y INT);
CREATE TABLE s_c (id INT PRIMARY KEY, c BIGINT);
CREATE TABLE s_t (id INT PRIMARY KEY, t TIMESTAMPTZ);
CREATE TABLE s_u (id INT PRIMARY KEY, u VARCHAR);
CREATE TABLE s_big (id BIGINT PRIMARY KEY, x DOUBLE PRECISION);
CREATE TABLE s_small (id SMALLINT PRIMARY KEY, x DOUBLE PRECISION);
CREATE TABLE s_text (id VARCHAR PRIMARY KEY, x DOUBLE PRECISION);
CREATE TABLE x_s (x DOUBLE PRECISION PRIMARY KEY, id INT);
CREATE TABLE y_s (y INT PRIMARY KEY, x DOUBLE PRECISION);
CREATE TABLE s_2 (id INT, id2 INT, x DOUBLE PRECISION, PRIMARY KEY (id, id2));
CREATE TABLE s_1of2 (id INT, id2 INT, x DOUBLE PRECISION, PRIMARY KEY (id));
"""

_KAFKA = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'localhost:9092'"
_DEBEZIUM = f"{_KAFKA}, 'format' = 'debezium-json', 'scan.startup.mode' = 'earliest-offset'"
_UPSERT = (
    "'connector' = 'upsert-kafka', 'topic' = 't', 'properties.bootstrap.servers' = "
    "'localhost:9092', 'key.format' = 'json', 'value.format' = 'json'"
)
_JDBC = "'connector' = 'jdbc', 'url' = 'jdbc:postgresql://localhost/x', 'table-name' = 't'"
_COLUMNS = "id INT, k INT, v INT, d DOUBLE, ts TIMESTAMP_LTZ(3)"
_META = "m TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL"
_PROC = "proc AS PROCTIME()"
_KEY = "PRIMARY KEY (id) NOT ENFORCED"


def _sink(name: str, columns: str, key: str) -> str:
    return f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({key}) NOT ENFORCED) WITH ({_UPSERT})"


FLINK_SETUP = (
    f"CREATE TABLE cdc ({_COLUMNS}, {_META}, {_PROC}, {_KEY}) WITH ({_DEBEZIUM})",
    f"CREATE TABLE cdc2 ({_COLUMNS}, {_META}, {_PROC}, {_KEY}) WITH ({_DEBEZIUM})",
    f"CREATE TABLE nopk (k INT, v INT, d DOUBLE, {_PROC}) WITH ({_DEBEZIUM})",
    f"CREATE TABLE ups (id INT, k INT, v INT, d DOUBLE, {_META}, {_PROC}, {_KEY}) WITH ({_UPSERT})",
    f"CREATE TABLE app ({_COLUMNS}, {_PROC}) WITH ({_KAFKA}, 'format' = 'json', "
    "'scan.startup.mode' = 'earliest-offset')",
    f"CREATE TABLE dim (k INT, n INT, PRIMARY KEY (k) NOT ENFORCED) WITH ({_JDBC})",
    f"CREATE TABLE dim0 (k INT, n INT) WITH ({_JDBC})",
    _sink("s_x", "id INT, x DOUBLE", "id"),
    _sink("s_y", "id INT, y INT", "id"),
    _sink("s_c", "id INT, c BIGINT", "id"),
    _sink("s_t", "id INT, t TIMESTAMP_LTZ(3)", "id"),
    _sink("s_u", "id INT, u STRING", "id"),
    _sink("s_big", "id BIGINT, x DOUBLE", "id"),
    _sink("s_small", "id SMALLINT, x DOUBLE", "id"),
    _sink("s_text", "id STRING, x DOUBLE", "id"),
    _sink("x_s", "x DOUBLE, id INT", "x"),
    _sink("y_s", "y INT, x DOUBLE", "y"),
    _sink("s_2", "id INT, id2 INT, x DOUBLE", "id, id2"),
    _sink("s_1of2", "id INT, id2 INT, x DOUBLE", "id"),
)


@dataclass(frozen=True)
class Shape:
    """A query and the sink that it writes."""

    name: str
    sink: str
    query: str

    @property
    def flink(self) -> str:
        """Return Flink's statement."""
        query = re.sub(r"@(\w+)", self._as_of, self.query)
        return f"INSERT INTO {self.sink} {query}"

    @staticmethod
    def _as_of(match: re.Match[str]) -> str:
        return f"FOR SYSTEM_TIME AS OF {match.group(1)}.proc"

    @property
    def floodmark(self) -> str:
        """Return Floodmark's statement, in the mode that gives Flink's verdict."""
        text = re.sub(r"@\w+", "FOR SYSTEM_TIME AS OF PROCTIME()", self.query)
        for theirs, ours in (
            (", proc FROM", " FROM"),
            ("UUID()", "CAST(gen_random_uuid() AS VARCHAR)"), ("RAND()", "random()"),
            (" AS STRING)", " AS VARCHAR)"), (" AS DOUBLE)", " AS DOUBLE PRECISION)"),
        ):  # fmt: skip
            text = text.replace(theirs, ours)
        return f"CREATE SINK w INTO {self.sink} AS {text} WITH (determinism = 'flink');"


def _shapes(text: str) -> tuple[Shape, ...]:
    lines = (line.split("|", 2) for line in text.strip().splitlines() if line.strip())
    return tuple(Shape(*(part.strip() for part in line)) for line in lines)


SHAPES = _shapes((Path(__file__).parent / "shapes.txt").read_text())
