"""The examples of docs/watermarks.md; the page shows their SQL."""

from __future__ import annotations

from docs.picture_runs import Example, Lane

_SOURCE = """
CREATE SOURCE {name} ({columns}, WATERMARK FOR {time} AS {time} - INTERVAL '{delay}') {{{name}}};
"""


def _source(name: str, columns: str, time: str, delay: str) -> str:
    return _SOURCE.format(name=name, columns=columns, time=time, delay=delay)


LATE = Example(
    name="late",
    title="The watermark follows two minutes behind; what comes below it is late",
    sql=_source("s", "ts TIMESTAMP, k TEXT", "ts", "2 minutes")
    + "CREATE MATERIALIZED VIEW v AS SELECT k, ts FROM s EMIT ON WINDOW CLOSE;",
    times={"s": "ts"},
    lanes=(Lane("v", "released: rows below the watermark"),),
    epochs=(
        (("s", "10:01", "a"),),
        (("s", "10:04", "b"),),
        (("s", "10:03", "c"),),
        (("s", "10:07", "d"),),
        (("s", "10:04", "e"),),
        (("s", "10:05", "f"),),
        (("s", "10:10", "g"),),
    ),
)
WINDOWS = Example(
    name="windows",
    title="Windows of five minutes: given out once, when they are over",
    sql=_source("s", "ts TIMESTAMP, k TEXT", "ts", "1 minute")
    + """CREATE MATERIALIZED VIEW v AS
SELECT window_start, window_end, count(*) AS n FROM TUMBLE(s, ts, INTERVAL '5 minutes')
GROUP BY window_start, window_end EMIT ON WINDOW CLOSE;""",
    times={"s": "ts"},
    lanes=(Lane("v", "given out: window and number of rows", "{0}: {2}"),),
    epochs=(
        (("s", "10:01", "a"), ("s", "10:03", "b")),
        (("s", "10:06", "c"),),
        (("s", "10:05", "d"),),
        (("s", "10:04", "e"),),
        (("s", "10:08", "f"),),
        (("s", "10:12", "g"),),
        (("s", "10:17", "h"),),
    ),
    windows=("window_start", "window_end"),
)
INPUTS = Example(
    name="inputs",
    title="Two inputs: the lower of both watermarks counts",
    sql=_source("a", "ts TIMESTAMP, k TEXT", "ts", "1 minute")
    + _source("b", "tb TIMESTAMP, j TEXT", "tb", "1 minute")
    + """CREATE MATERIALIZED VIEW v AS
SELECT ts, k FROM a UNION ALL SELECT tb, j FROM b EMIT ON WINDOW CLOSE;""",
    times={"a": "ts", "b": "tb"},
    lanes=(Lane("v", "released: rows below both", "{1}"),),
    epochs=(
        (("a", "10:02", "a1"), ("b", "10:01", "b1")),
        (("a", "10:06", "a2"),),
        (("b", "10:04", "b2"),),
        (("a", "10:09", "a3"),),
        (("b", "10:08", "b3"),),
        (("b", "10:12", "b4"),),
    ),
)
SESSIONS = Example(
    name="sessions",
    title="Sessions with a gap of three minutes: over when no row can prolong them",
    sql=_source("s", "ts TIMESTAMP, k TEXT", "ts", "1 minute")
    + """CREATE MATERIALIZED VIEW v AS
SELECT window_start, window_end, count(*) AS n FROM SESSION(s, ts, INTERVAL '3 minutes')
GROUP BY window_start, window_end EMIT ON WINDOW CLOSE;""",
    times={"s": "ts"},
    lanes=(Lane("v", "given out: first time and number of rows", "{0}: {2}"),),
    epochs=(
        (("s", "10:01", "a"),),
        (("s", "10:03", "b"),),
        (("s", "10:02", "c"),),
        (("s", "10:08", "d"),),
        (("s", "10:10", "e"),),
        (("s", "10:15", "f"),),
        (("s", "10:20", "g"),),
    ),
    windows=("window_start", "window_end"),
)
JOIN = Example(
    name="join",
    title="A left join: whether a row has a match is decided when it is released",
    sql=_source("a", "ts TIMESTAMP, k TEXT", "ts", "1 minute")
    + _source("b", "tb TIMESTAMP, j TEXT", "tb", "1 minute")
    + """CREATE MATERIALIZED VIEW v AS
SELECT ts, k, j FROM a LEFT JOIN b ON ts BETWEEN tb - INTERVAL '2 minutes' AND tb
EMIT ON WINDOW CLOSE;""",
    times={"a": "ts", "b": "tb"},
    lanes=(Lane("v", "given out: row and its match", "{1}, {2}"),),
    epochs=(
        (("a", "10:02", "a1"), ("b", "10:00", "b1")),
        (("a", "10:05", "a2"),),
        (("b", "10:03", "b2"),),
        (("a", "10:09", "a3"), ("b", "10:08", "b3")),
        (("b", "10:10", "b4"),),
        (("a", "10:13", "a4"), ("b", "10:15", "b5")),
    ),
)
OVER = Example(
    name="over",
    title="Window functions: a row is final when its frame is",
    sql=_source("s", "ts TIMESTAMP, k TEXT", "ts", "0 minutes")
    + """CREATE MATERIALIZED VIEW back AS
SELECT k, ts, lag(k) OVER (ORDER BY ts) AS o FROM s EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW ahead AS
SELECT k, ts, count(*) OVER (ORDER BY ts
RANGE BETWEEN CURRENT ROW AND INTERVAL '3 minutes' FOLLOWING) AS n FROM s EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW next AS
SELECT k, lead(k) OVER (ORDER BY ts) AS o FROM s EMIT ON WINDOW CLOSE;""",
    times={"s": "ts"},
    lanes=(
        Lane("back", "lag: looks back", "{0} after {2}"),
        Lane("ahead", "RANGE … 3 minutes FOLLOWING", "{0}: {2}"),
        Lane("next", "lead: looks ahead by a row", "{0} before {1}"),
    ),
    epochs=(
        (("s", "10:01", "a"),),
        (("s", "10:03", "b"),),
        (("s", "10:04", "c"),),
        (("s", "10:08", "d"),),
        (("s", "10:09", "e"),),
        (("s", "10:14", "f"),),
    ),
)
EXAMPLES = (LATE, WINDOWS, INPUTS, SESSIONS, JOIN, OVER)
