"""What was emitted and its corrections together are what a watermark that waits longer emits.

Two warehouses take the same files: in one rows come late, in the other none does.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random

import pytest

from floodmark.api import Floodmark
from floodmark.tools.corrections.correct import EpochSpan, correct, parse_time
from tests.warehouses import NOW, READINGS, START, Reading, Site, put

pytestmark = [pytest.mark.spark, pytest.mark.long]

FIRST, LAST = parse_time("2012-12-31"), 9000
WINDOW = "TUMBLE(s, ts, INTERVAL '1 hour')"
VIEWS = {
    "agg": f"SELECT window_start, k, count(*) AS n, avg(v) AS mean, array_agg(v ORDER BY id) AS a "
    f"FROM {WINDOW} GROUP BY window_start, k HAVING count(*) <> 2",
    "hidden": f"SELECT count(*) AS n, min(v) AS least FROM {WINDOW} GROUP BY window_start",
    "best": "SELECT window_start, id, k, v FROM (SELECT *, row_number() OVER "
    f"(PARTITION BY window_start ORDER BY v DESC, id) AS r FROM {WINDOW}) q WHERE r <= 2",
    "pairs": "SELECT l.id AS a, r.id AS b, l.ts FROM s l LEFT JOIN s r "
    "ON l.ts = r.ts AND l.k = r.k AND l.id < r.id",
    "above": "SELECT window_start, sum(n) AS n FROM agg GROUP BY window_start",
}


def _readings(seed: int) -> list[list[Reading]]:
    """Return four files of readings, a third of them of any time before, and one of the end."""
    random, files, number = Random(seed), [], 0
    for part in range(4):
        rows: list[Reading] = []
        for _ in range(random.randint(6, 12)):
            number += 1
            late = random.random() < 0.35
            minute = random.randint(0, part * 400) if late else random.randint(0, 400) + part * 400
            value = random.choice([None, 1, 2, 3, 4])
            rows.append((number, random.choice("ab"), minute // 20 * 20, value))
        files.append(rows)
    return [*files, [(10_000, "z", LAST, 1)]]


def _take_in(fm: Floodmark, site: Site, files: list[list[Reading]]) -> None:
    for number, rows in enumerate(files):
        put(site.landing, str(number), rows)
        fm.advance(now=NOW)


def _rows(fm: Floodmark, name: str) -> Counter[str]:
    shown = ", ".join(field.name for field in fm.find(name).relation.visible)
    return Counter(map(repr, fm.execute(f"SELECT {shown} FROM {name}").rows))


def _corrected(fm: Floodmark, name: str) -> Counter[str]:
    """Return the rows of a view with its corrections."""
    out = _rows(fm, name)
    shown = ", ".join(field.name for field in fm.find(name).relation.visible)
    for kind, *row in fm.execute(f"SELECT kind, {shown} FROM {name}__corrections").rows:
        out[repr(tuple(row))] += 1 if kind in ("+I", "+U") else -1
    assert min(out.values()) >= 0
    return +out


@pytest.mark.parametrize("seed", [3, 4])
def test_corrections_are_what_no_late_row_gives(site: Site, seed: int) -> None:
    files = _readings(seed)
    views = [f"CREATE MATERIALIZED VIEW {n} AS {q} EMIT ON WINDOW CLOSE;" for n, q in VIEWS.items()]
    site.define(READINGS, *views)
    end = FIRST + timedelta(days=1, minutes=LAST - 4000 - 120)
    with site.connect("late") as late:
        _take_in(late, site, files)
        site.define(READINGS.replace("'1 hour'", "'4000 minutes'"), *views)
        with site.connect("patient") as patient:
            patient.advance(now=NOW)
            middle = START.replace(tzinfo=FIRST.tzinfo) + timedelta(hours=7)
            for name in VIEWS:
                correct(late, name, EpochSpan(FIRST, middle))
                correct(late, name, EpochSpan(FIRST, end))
                assert not correct(late, name, EpochSpan(FIRST, end)).rows
                assert _corrected(late, name) == _rows(patient, name), name
            for name in ("hidden", "best", "pairs"):
                correct(late, name, EpochSpan(FIRST, end), in_place=True)
                assert _rows(late, name) == _rows(patient, name), name
