"""Random queries that emit on close, and rows that come in and out of order, early and late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

START = datetime(2026, 1, 1, 10)
SOURCES = {
    "a": ("k INT, ts TIMESTAMP, v INT", "ts"),
    "b": ("j INT, tb TIMESTAMP, u INT", "tb"),
}
Rows = dict[str, list[dict[str, object]]]


def source(name: str, delay: str, options: str) -> str:
    """Return the statement of a source of rows with a time."""
    columns, time = SOURCES[name]
    mark = f"WATERMARK FOR {time} AS {time} - INTERVAL '{delay}'"
    return f"CREATE SOURCE {name} ({columns}, {mark}) {options}"


@dataclass(frozen=True)
class Shape:
    """A query with gaps `{d}` for durations, `{n}` for small numbers and `{c}` for conditions."""

    name: str
    text: str

    def filled(self, random: Random) -> str:
        out = self.text
        for gap, choose in _GAPS.items():
            while gap in out:
                out = out.replace(gap, choose(random), 1)
        return out


_GAPS = {
    "{d}": lambda r: f"INTERVAL '{r.choice((1, 2, 3, 5, 7))} minutes'",
    "{n}": lambda r: str(r.choice((1, 1, 2, 3))),
    "{c}": lambda r: r.choice(("TRUE", "v > 1", "v IS NOT NULL", "k <> 2", "v + k < 9")),
    "{f}": lambda r: r.choice(
        ("sum(v)", "count(*)", "min(v)", "max(v)", "count(v)", "avg(v)", "first_value(v)")
    ),
    "{g}": lambda r: r.choice(
        ("count(*)", "sum(v)", "min(v)", "max(v)", "avg(v)", "count(DISTINCT v)",
         "sum(v) FILTER (WHERE k > 1)", "array_agg(v ORDER BY v)", "bool_or(v > 1)")
    ),
}  # fmt: skip

_PARTS = {
    "{counted}": "(SELECT window_start, count(*) AS n "
    "FROM TUMBLE(a, ts, INTERVAL '5 minutes') GROUP BY 1)",
    "{others}": "(SELECT window_start, sum(u) AS m "
    "FROM TUMBLE(b, tb, INTERVAL '5 minutes') GROUP BY 1)",
}


def _shapes() -> Iterator[Shape]:
    written = Path(__file__).with_suffix(".sql").read_text()
    for part in written.split("-- ")[1:]:
        name, _, text = part.partition("\n")
        for gap, query in _PARTS.items():
            text = text.replace(gap, query)
        yield Shape(name, " ".join(text.split()))


SHAPES = tuple(_shapes())


def land(random: Random, now: datetime) -> Rows:
    """Return the rows of one epoch: around a time, some of them late, some early."""
    found: Rows = {"a": [], "b": []}
    for name, rows in found.items():
        if random.random() < 0.2:
            continue
        for _ in range(random.randrange(1, 8)):
            minutes = random.choice((-9, -5, -4, -3, -2, -1, -1, 0, 0, 1))
            time = now + timedelta(minutes=minutes)
            value = random.choice((None, 0, 1, 2, 3, 9))
            key = random.randrange(4)
            rows.append(
                {"k": key, "ts": time, "v": value}
                if name == "a"
                else {"j": key, "tb": time, "u": value}
            )
    return found
