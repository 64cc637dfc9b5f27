"""The engine's watermarks of tables and sources are the reference's, epoch by epoch."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from floodmark.changelog import RowKind
from floodmark.epochs.objects.watermarks import CONNECTOR, DML, Marks
from floodmark.plan.declaration import Declaration
from floodmark.reference.compile import reference_objects
from floodmark.reference.ingest import gather
from floodmark.reference.pipeline import Delivery, EpochInput, ObjectState
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.records.text import from_text, to_text
from tests.program_reference import compile_sql

START = datetime(2024, 1, 1, tzinfo=UTC)
COLUMNS = """CREATE {} (ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts - INTERVAL '1 minute',
WATERMARK FOR n AS n - 3)"""
FILES = "WITH (connector = 'files', path = 'x', {}) FORMAT PLAIN ENCODE PARQUET"
IDLE = "watermark.idle_after = '3 minutes'"
ADVANCE = "watermark.advance = 'max(ts) - 30s, now() - 4m'"
AHEAD = "watermark.max_ahead = '5 minutes'"
DEFINED = {
    "table": f"{COLUMNS.format('TABLE x')} APPEND ONLY",
    "table with a limit": f"{COLUMNS.format('TABLE x')} APPEND ONLY WITH ({AHEAD})",
    "table with a connector": f"{COLUMNS.format('TABLE x')} APPEND ONLY {FILES.format(AHEAD)}",
    "silent table": f"{COLUMNS.format('TABLE x')} APPEND ONLY {FILES.format(IDLE)}",
    "table by the clock": f"{COLUMNS.format('TABLE x')} APPEND ONLY "
    f"{FILES.format(f'{IDLE}, {ADVANCE}, {AHEAD}')}",
    "source": f"{COLUMNS.format('SOURCE x')} {FILES.format(ADVANCE)}",
    "silent source": f"{COLUMNS.format('SOURCE x')} {FILES.format(IDLE)}",
}
Row = dict[str, Any]


def _drawn(draw: random.Random, minutes: float) -> list[Row]:
    """Return up to three rows around a time."""
    times = [minutes + draw.uniform(-5, 6) for _ in range(draw.randrange(4))]
    return [
        {
            "ts": None
            if draw.random() < 0.1
            else (START + timedelta(minutes=m)).replace(tzinfo=None),
            "n": draw.randrange(int(minutes) + 3),
        }
        for m in times
    ]


def _is_dead(row: Row, declared: Declaration, now: datetime) -> bool:
    latest = declared.clock.latest(now, declared.watermarks[0].expr.type)
    return row["ts"] is None or (latest is not None and row["ts"] > latest)


def _late(rows: Sequence[Row], bounds: Mapping[str, Any]) -> list[Row]:
    return [row for row in rows if any(row[c] < bound for c, bound in bounds.items())]


def _highs(rows: Sequence[Row]) -> dict[str, Any]:
    return {c: max(row[c] for row in rows) for c in ("ts", "n")} if rows else {}


@pytest.mark.parametrize("text", DEFINED.values(), ids=list(DEFINED))
def test_the_same_rows_are_late_and_the_same_watermarks_come_of_them(text: str) -> None:
    pipeline = compile_sql(text)
    (obj,) = reference_objects(pipeline)
    declared = pipeline["x"].declared
    assert declared is not None
    sink: Any = SimpleNamespace(
        name="k", schema=obj.schema, target_columns=("ts", "n"), force_append_only=False,
        ignore_delete=False, owns="",
    )  # fmt: skip
    is_table = "TABLE" in text
    for seed in range(60):
        draw = random.Random(seed)
        state, record, minutes = ObjectState(), None, 0.0
        for _ in range(12):
            minutes += draw.choice((0.5, 1, 3))
            now = START + timedelta(minutes=minutes)
            delivered = _drawn(draw, minutes) if declared.connector is not None else []
            sunk, stated = (_drawn(draw, minutes) if is_table else [] for _ in range(2))
            ended = draw.random() < 0.7
            epoch = EpochInput(
                now,
                {"x": [Delivery(RowKind.INSERT, row) for row in delivered]},
                [("x", [(RowKind.INSERT, row) for row in stated])] if stated else [],
                limited=frozenset() if ended else frozenset({"x"}),
            )
            brought = [(sink, [(RowKind.INSERT, row) for row in sunk])] if sunk else []
            # The reference counts a connector's partition from its first row on.
            known = (CONNECTOR,) if declared.connector is not None else ()
            state, result = gather(_with_partitions(obj, known), state, epoch, brought)

            marks = Marks.from_record(declared, record, now)
            alive = {
                p: [row for row in rows if not _is_dead(row, declared, now)]
                for p, rows in ((CONNECTOR, delivered), ("sink:k", sunk), (DML, stated))
                if rows
            }
            late = [r for p in ("sink:k", DML) for r in _late(alive.get(p, []), marks.bounds(p))]
            running = marks
            for row in alive.get(CONNECTOR, []):
                late += _late([row], running.bounds(CONNECTOR))
                running = _by_connector_alone(running, row)
            wanted = sorted((row["ts"], row["n"]) for row in result.late)
            assert sorted((row["ts"], row["n"]) for row in late) == wanted, (seed, minutes)
            after = marks.raise_by({p: _highs(rows) for p, rows in alive.items()}).close_epoch(
                ended
            )
            assert after.visible == dict(state.watermark), (seed, minutes)
            logged = ObjectRecord("x", {}, watermarks=after.visible, **after.record_fields)
            fields = ("watermarks", "reached", "heard")
            again = {f: from_text(to_text(getattr(logged, f))) for f in fields}
            record = ObjectRecord("x", {}, **again)


def _by_connector_alone(marks: Marks, row: Row) -> Marks:
    """Return the watermarks by which the connector's next row is judged."""
    return marks.raise_by({CONNECTOR: _highs([row])})


def _with_partitions(item: Any, known: tuple[str, ...]) -> Any:
    return replace(item, partitions=known)
