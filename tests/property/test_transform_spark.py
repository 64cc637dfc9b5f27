"""What a source makes of its rows is what a view with the same query makes of all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

import floodmark
from floodmark import Floodmark
from floodmark.spark.session import Sessions

START = datetime(2026, 1, 1, 10, tzinfo=UTC)
JUMPS = (1, 3, 10, 30, 70, 600, 1500, 60 * 24 * 40)
"""Minutes that pass between two epochs."""
INTERVALS = ("10 minutes", "1 hour", "1 day", "7 minutes")
COLUMNS = "k BIGINT, a INT, ts TIMESTAMPTZ, ub TIMESTAMPTZ"
SELECTS = ("k, a, ts", "a, ts", "k, a + 1 AS b, ub", "a AS k, ts AS t", "k, 10 / nullif(a, 1) AS q")
PLAIN = ("a > 2", "a IS NOT NULL", "k % 3 <> 0", "10 / a > 1", "(a > 1 OR ub IS NULL)")


@dataclass
class Clock:
    """A clock that the test turns."""

    time: datetime = START

    def now(self) -> datetime:
        return self.time


@dataclass
class Twins:
    """A transformed source and a plain one that read the same rows, with views over both."""

    number: int
    by_key: bool
    select: str
    where: str
    folder: Path = field(repr=False)

    def statements(self) -> Iterator[str]:
        key = ", PRIMARY KEY (k)" if self.by_key else ""
        form = "UPSERT" if self.by_key else "PLAIN"
        reads = f"WITH (connector = 'files', path = '{self.folder}') FORMAT {form} ENCODE JSON"
        i, query = self.number, f"SELECT {self.select} FROM"
        transform = f"TRANSFORM USING ({query} s{i} WHERE {self.where})"
        yield f"CREATE SOURCE s{i} ({COLUMNS}{key}) {reads} {transform}"
        yield f"CREATE SOURCE p{i} ({COLUMNS}{key}) {reads}"
        yield f"CREATE MATERIALIZED VIEW v{i} AS SELECT * FROM s{i}"
        yield f"CREATE MATERIALIZED VIEW n{i} AS SELECT count(*) AS n FROM s{i}"
        yield f"CREATE MATERIALIZED VIEW t{i} AS {query} p{i} WHERE {self.where}"

    def land(self, random: Random, now: datetime, step: int) -> None:
        rows = [_row(random, now) for _ in range(random.randrange(1, 9))]
        if not self.by_key:
            rows = [{**row, "k": 100 * step + i} for i, row in enumerate(rows)]
        lines = [json.dumps(_message(row, random) if self.by_key else row) for row in rows]
        (self.folder / f"{step:03}.json").write_text("\n".join(lines) + "\n")

    def check(self, fm: Floodmark) -> int:
        shown, twin, stored = (_rows(fm, f"{name}{self.number}") for name in "vts")
        assert shown == twin == stored, self
        assert fm.execute(f"SELECT n FROM n{self.number}").rows == ((len(shown),),), self
        return len(shown)


def _row(random: Random, now: datetime) -> dict[str, object]:
    begun = now + timedelta(minutes=random.choice((-2000, -100, -30, -5, 0, 1, 5, 20, 60, 3000)))
    ended = begun + timedelta(minutes=random.choice((-10, 0, 3, 30, 100, 1500)))
    return {
        "k": random.randrange(12),
        "a": random.choice((None, 0, 1, 2, 3, 4, 5)),
        "ts": random.choice((None, *[begun.isoformat()] * 6)),
        "ub": random.choice((None, *[ended.isoformat()] * 5)),
    }


def _message(row: dict[str, object], random: Random) -> dict[str, object]:
    return {"key": {"k": row["k"]}, "value": None if random.random() < 0.25 else row}


def _comparison(random: Random) -> str:
    interval = f"INTERVAL '{random.choice(INTERVALS)}'"
    row = random.choice(
        ("ts", "ub", f"ts + {interval}", f"ub - {interval}", "ts + a * INTERVAL '1 minute'",
         "ts + INTERVAL '1 month'")
    )  # fmt: skip
    time = random.choice(
        ("now()", "mz_now()", f"now() - {interval}", f"now() + {interval}",
         "date_trunc('hour', now())", "current_date")
    )  # fmt: skip
    op = random.choice(("<", "<=", ">", ">="))
    return random.choice(
        (f"{row} {op} {time}", f"{time} {op} {row}", f"NOT {time} {op} {row}",
         "now() BETWEEN ts AND ub")
    )  # fmt: skip


def _condition(random: Random) -> str:
    parts = [_comparison(random) for _ in range(random.choice((0, 1, 1, 2, 2, 3)))]
    parts += random.sample(PLAIN, random.choice((0, 1, 1, 2)))
    random.shuffle(parts)
    return " AND ".join(parts) or "TRUE"


def _rows(fm: Floodmark, name: str) -> list[str]:
    return sorted(map(repr, fm.execute(f"SELECT * FROM {name}").rows))


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("seed", "sources", "epochs"),
    [(1, 2, 4), *(pytest.param(seed, 6, 9, marks=pytest.mark.long) for seed in (2, 3))],
)
def test_a_transformed_source_is_what_a_view_would_be(
    sessions: Sessions, tmp_path: Path, seed: int, sources: int, epochs: int
) -> None:
    random, clock = Random(seed), Clock()
    with floodmark.connect(tmp_path / "warehouse", clock=clock, sessions=lambda: sessions) as fm:
        pairs = []
        for i in range(sources):
            folder = tmp_path / f"landing{i}"
            folder.mkdir()
            select, where = random.choice(SELECTS), _condition(random)
            pairs.append(Twins(i, i % 2 == 1, select, where, folder))
            for statement in pairs[-1].statements():
                fm.execute(statement)
        seen = 0
        for step in range(epochs):
            clock.time += timedelta(minutes=random.choice(JUMPS))
            for twins in pairs:
                if random.random() < 0.6:
                    twins.land(random, clock.time, step)
            fm.advance()
            if step % 3 == 2:
                fm.maintain(timedelta(seconds=1))
            assert fm.warehouse.log.suspensions() == {}
            seen += sum(twins.check(fm) for twins in pairs)
        assert seen
