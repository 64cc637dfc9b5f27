"""The engine: a warehouse of its own per query, its sources and its view stored and sealed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import floodmark
from benchmarks.nexmark.data import Landing
from benchmarks.nexmark.queries import analysed, definition, schema
from floodmark.session.inspect.sizes import total
from floodmark.spark.session import Sessions
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script


@dataclass(frozen=True)
class Caught:
    """A run: its seconds and epochs, the rows in the view, and the bytes of those and of state."""

    seconds: float
    epochs: int
    rows: int
    view_bytes: int
    state_bytes: int


def catch_up(
    name: str, data: Path, root: Path, sessions: Sessions, *, by_part: bool = False
) -> Caught:
    """Take in all files, in as few epochs as the engine wants, or each part as it arrives.

    Raises FloodmarkError where the query does not run, RuntimeError where it was suspended.
    """
    landing = Landing(data, root / "landing")
    reads = set(analysed(name)[name].reads)
    with floodmark.connect(root / "warehouse", sessions=lambda: sessions) as fm:
        for statement in parse_script(schema(root / "landing")):
            assert isinstance(statement, s.CreateSource | s.CreateTable)
            if statement.name.name in reads:
                fm.run_statement(statement)
        fm.execute(definition(name))
        steps = landing.parts if by_part else 1
        started, taken = time.perf_counter(), 0
        for _ in range(steps):
            landing.arrive(landing.parts // steps)
            taken += len(fm.advance())
        seconds = time.perf_counter() - started
        suspended = fm.warehouse.log.suspensions()
        if suspended:
            raise RuntimeError("; ".join(event.message for event in suspended.values()))
        rows = fm.execute(f"SELECT count(*) FROM {name}").rows[0][0]
        sizes = fm.sizes(name)
    at_rest, in_state = (total(sizes, state=state)[1] or 0 for state in (False, True))
    return Caught(seconds, taken, int(rows), at_rest, in_state)
