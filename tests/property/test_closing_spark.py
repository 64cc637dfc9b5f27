"""What emits on close on Spark is the batch result of what has closed, whatever the epochs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

import floodmark
from floodmark import Floodmark, failpoints
from floodmark.changelog import is_hidden
from floodmark.errors import TransientError
from floodmark.plan import nodes as n
from floodmark.spark.session import Sessions
from tests.property.closing_queries import SHAPES, START, Rows, land, source

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]
CRASH_EVERY, LATER = 23, 7
"""Failpoints between two crashes, and how many more each time: one epoch has hundreds."""
MOST_TRIES = 20


@dataclass
class Run:
    """A warehouse with views that emit on close, and one folder a source from which rows come."""

    fm: Floodmark
    root: Path
    queries: dict[str, str]

    def advance(self, steps: Sequence[int], landed: Sequence[Rows]) -> None:
        """Take in the rows of some steps in one epoch."""
        for name in ("a", "b"):
            rows = [row for step in steps for row in landed[step][name]]
            lines = [json.dumps(row, default=lambda time: time.isoformat()) for row in rows]
            if lines:
                (self.root / name / f"{steps[0]:03}.json").write_text("\n".join(lines) + "\n")
        for _ in range(MOST_TRIES):
            try:
                self.fm.advance()
                break
            except TransientError:
                pass
        else:
            raise AssertionError("the epoch does not end")
        assert self.fm.warehouse.log.suspensions() == {}

    def rows(self, name: str) -> Counter[str]:
        return Counter(map(repr, self.fm.execute(f"SELECT * FROM {name}").rows))

    def expected(self, name: str) -> Counter[str]:
        """Return the batch result of what has closed."""
        query = self.queries[name]
        column, _ = self.fm.deployed.pipeline[name].relation.watermarks[0]
        bound = self.fm.warehouse.cut().watermarks(name).get(column)
        where = "FALSE" if bound is None else f"{column} < TIMESTAMP '{bound}'"
        return Counter(map(repr, self.fm.execute(f"SELECT * FROM ({query}) q WHERE {where}").rows))

    def waits_for_rows(self, name: str) -> bool:
        """Tell whether no column of the view says what has closed."""
        watermarks = self.fm.deployed.pipeline[name].relation.watermarks
        if not watermarks or is_hidden(watermarks[0][0]):
            return True
        plan = self.fm.deployed.pipeline[name].plan
        assert plan is not None
        return any(isinstance(x, n.OverWindow) and x.close_call for x in n.walk(plan.root))


@contextmanager
def run(
    folder: Path, queries: dict[str, str], delays: Sequence[str], sessions: Sessions
) -> Iterator[Run]:
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
    with floodmark.connect(folder / "warehouse", sessions=lambda: sessions) as fm:
        for name, delay in zip("ab", delays, strict=True):
            options = (
                f"WITH (connector = 'files', path = '{folder / name}') FORMAT PLAIN ENCODE JSON"
            )
            fm.execute(source(name, delay, options))
        for name, query in queries.items():
            fm.execute(f"CREATE MATERIALIZED VIEW {name} AS {query} EMIT ON WINDOW CLOSE")
        yield Run(fm, folder, queries)


@pytest.mark.parametrize(
    ("seed", "shapes", "most"),
    [(1, 2, 4), *(pytest.param(seed, 13, 17, marks=pytest.mark.long) for seed in (2, 3, 4))],
)
def test_other_epochs_and_crashes_release_the_same(
    sessions: Sessions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    shapes: int,
    most: int,
) -> None:
    random = Random(seed)
    chosen = random.sample(SHAPES, shapes)
    queries = {f"v{i}": shape.filled(random) for i, shape in enumerate(chosen)}
    delays = [random.choice(("0 seconds", "1 minute", "2 minutes")) for _ in range(2)]
    now, landed = START, []
    for _ in range(most):
        now += timedelta(minutes=random.choice((1, 1, 2, 4, 9)))
        landed.append(land(random, now))
    cuts = {
        "one": [range(most)],
        "three": [range(most // 3), range(most // 3, most // 2), range(most // 2, most)],
        "many": [range(i, i + 1) for i in range(most)],
    }
    found: dict[str, dict[str, Counter[str]]] = {}
    for label, epochs in cuts.items():
        with run(tmp_path / label, queries, delays, sessions) as part, monkeypatch.context() as m:
            if label == "many":
                m.setattr(failpoints, "reach", _crashing())
            before: dict[str, Counter[str]] = {name: Counter() for name in queries}
            for steps in epochs:
                part.advance(list(steps), landed)
                for name in queries if label != "many" else ():
                    rows = part.rows(name)
                    assert not before[name] - rows, f"{label}: taken back: {queries[name]}"
                    before[name] = rows
                    if not part.waits_for_rows(name):
                        assert rows == part.expected(name), f"{label}: {queries[name]}"
            found[label] = {name: part.rows(name) for name in queries}
    for name, query in queries.items():
        assert found["one"][name] == found["three"][name] == found["many"][name], query
    assert sum(rows.total() for rows in found["one"].values())


def _crashing() -> object:
    left = gap = CRASH_EVERY

    def reach(name: str) -> None:
        nonlocal left, gap
        left -= 1
        if left <= 0:
            gap += LATER
            left = gap
            raise TransientError("E0505", f"a crash at {name}")

    return reach
