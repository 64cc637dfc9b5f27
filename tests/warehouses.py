"""Small warehouses for tests of the whole engine: what lands, what is defined, what came out."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from floodmark import failpoints
from floodmark.api import Floodmark, connect
from floodmark.errors import TransientError
from floodmark.session.audit import ObjectReplay, ReplayOutcome
from floodmark.spark.session import Sessions
from floodmark.testing import FixedClock
from tests.children import Child, floodmark

NOW = datetime(2013, 2, 1, tzinfo=UTC)
START = datetime(2013, 1, 1)
Reading = tuple[int, str, int, int | None]
"""id, k, minutes after START, v."""

READINGS = """
CREATE SOURCE s (
    id BIGINT, k VARCHAR, ts TIMESTAMP, v INT, WATERMARK FOR ts AS ts - INTERVAL '1 hour'
) WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE PARQUET;
"""
NAMES = "CREATE TABLE d (k VARCHAR PRIMARY KEY, name VARCHAR);"
JOINED = """
CREATE MATERIALIZED VIEW j AS
SELECT s.id, s.k, d.name, 10 / (v - 7) AS q FROM s LEFT JOIN d ON s.k = d.k;
"""
GROUPED = """
CREATE MATERIALIZED VIEW st AS
SELECT k, count(*) AS n, avg(v) AS mean, max(v) AS mx FROM s GROUP BY k;
"""
REGROUPED = """
CREATE MATERIALIZED VIEW st2 AS
SELECT sum(n) AS n, max(mean) AS worst, count(*) AS groups FROM st;
"""
RECOMPUTED = """
CREATE MATERIALIZED VIEW f WITH (refresh = 'full') AS
SELECT k, count(*) AS n, now() AS at, 10 / (max(v) - 7) AS q FROM s GROUP BY k;
"""
PROJECTED = "CREATE MATERIALIZED VIEW p AS SELECT id, k || '!' AS kk FROM s WHERE v > 2;"
WINDOWED = """
CREATE MATERIALIZED VIEW h AS
SELECT window_start, count(*) AS n, sum(v) AS sv
FROM TUMBLE(s, ts, INTERVAL '1 hour') GROUP BY window_start EMIT ON WINDOW CLOSE;
"""
SUNK = """
CREATE TABLE t (k VARCHAR PRIMARY KEY, n BIGINT, note VARCHAR DEFAULT 'counted');
CREATE SINK kk INTO t (k, n) AS SELECT k, count(*) FROM s GROUP BY k;
"""


def put(landing: Path, name: str, readings: Sequence[Reading]) -> None:
    """Write a file of readings."""
    landing.mkdir(parents=True, exist_ok=True)
    columns = list(zip(*readings, strict=True))
    moments = [START + timedelta(minutes=m) for m in columns[2]]
    table = pa.table(
        {
            "id": pa.array(columns[0], pa.int64()),
            "k": pa.array(columns[1], pa.string()),
            "ts": pa.array(moments, pa.timestamp("us")),
            "v": pa.array(columns[3], pa.int32()),
        }
    )
    pq.write_table(table, landing / f"{name}.parquet")


def put_timed(
    landing: Path, name: str, rows: Sequence[tuple[datetime | None, int]], zone: str | None = None
) -> Path:
    """Write a file of rows with a time, in a zone or in none, and a number."""
    landing.mkdir(exist_ok=True)
    columns = {
        "ts": pa.array([ts for ts, _ in rows], pa.timestamp("us", zone)),
        "a": pa.array([a for _, a in rows], pa.int32()),
    }
    path = landing / f"{name}.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def readings(first: int, count: int) -> list[Reading]:
    """Return readings ten minutes apart: keys a to e, every 7th three hours late, some v NULL."""
    return [
        (i, "abcde"[i % 5], i * 10 - (180 if i % 7 == 6 else 0), None if i % 11 == 3 else i % 9)
        for i in range(first, first + count)
    ]


@dataclass(frozen=True)
class Site:
    """Where a test's things lie: `landing`, `pipelines` and any number of warehouses."""

    root: Path
    sessions: Sessions

    @property
    def landing(self) -> Path:
        return self.root / "landing"

    @property
    def pipelines(self) -> Path:
        return self.root / "pipelines"

    def define(self, *texts: str) -> None:
        """Write the pipeline files."""
        self.pipelines.mkdir(exist_ok=True)
        text = "\n".join(texts).replace("{landing}", str(self.landing))
        (self.pipelines / "all.sql").write_text(text)

    def connect(self, name: str = "warehouse", **options: Any) -> Floodmark:
        """Connect to a warehouse with the pipeline applied, on the sessions of the tests."""
        return connect(
            self.root / name,
            self.pipelines,
            clock=FixedClock(NOW),
            sessions=lambda: self.sessions,
            **options,
        )

    def copy(self, name: str, to: str) -> Path:
        """Copy a warehouse."""
        return Path(shutil.copytree(self.root / name, self.root / to))

    def run(self, name: str = "warehouse", *arguments: str) -> CompletedProcess[str]:
        """Run `floodmark run` on a warehouse, in a process of its own."""
        return floodmark(*self._command(name), *arguments)

    def start(self, name: str = "warehouse") -> Child:
        """Start `floodmark run` on a warehouse."""
        return Child(*self._command(name))

    def kill_at(self, failpoint: str, name: str = "warehouse", *arguments: str) -> None:
        """Run until a failpoint kills the process; not to get there is a failure."""
        floodmark(*self._command(name), *arguments, failpoint=failpoint)

    def _command(self, name: str) -> tuple[str, ...]:
        return (
            "run", "--warehouse", str(self.root / name), "--pipelines", str(self.pipelines),
            "--now", NOW.isoformat(),
        )  # fmt: skip


@contextmanager
def dying_at(point: str) -> Iterator[None]:
    """Let what is done inside die at a failpoint; not to get there is a failure."""

    def die(name: str) -> None:
        if name == point:
            raise TransientError("E0515", "killed")

    with mock.patch.object(failpoints, "reach", die), pytest.raises(TransientError):
        yield


def numbers(fm: Floodmark, name: str, column: str = "a") -> list[int]:
    """Return the numbers of a relation, sorted."""
    return [row[0] for row in fm.execute(f"SELECT {column} FROM {name} ORDER BY 1").rows]


def replay_all(fm: Floodmark) -> list[ObjectReplay]:
    """Do the work of every epoch once more."""
    last = fm.warehouse.log.head().sealed
    return [r for epoch in range(1, last + 1) for r in fm.replay(epoch)]


def differing(found: Sequence[ObjectReplay]) -> list[ObjectReplay]:
    """Return what was not the same again."""
    return [r for r in found if r.result is not ReplayOutcome.SAME]


def double(folder: Path) -> None:
    """Write every row of a table's files twice, behind the back of its log."""
    for path in folder.rglob("*.parquet"):
        if "_delta_log" not in path.parts:
            rows = pq.read_table(path)
            pq.write_table(pa.concat_tables([rows, rows]), path)
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def tables(root: Path) -> list[str]:
    """Return all Delta tables of a warehouse: rows, changes, state, late rows, dead letters."""
    return sorted(log.parent.relative_to(root).as_posix() for log in root.rglob("_delta_log"))


def contents(root: Path, table: str, *, hidden: bool = True) -> pa.Table:
    """Return the rows of a table in a canonical order, read without Spark."""
    found = DeltaTable(str(root / table)).to_pyarrow_table()
    if not hidden:
        found = found.select([c for c in found.column_names if not c.startswith("__")])
    rows = [repr(row) for row in found.to_pylist()]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    return found.take(pa.array(order, pa.int64())).combine_chunks()


def digests(root: Path) -> dict[str, str]:
    """Return a digest of the rows of every table."""
    return {table: _digest(contents(root, table)) for table in tables(root)}


def _digest(rows: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def rows_at_rest(root: Path, table: str) -> list[str]:
    """Return the rows of a table, sorted, without hidden columns."""
    return sorted(map(repr, contents(root, table, hidden=False).to_pylist()))


def visible(root: Path, name: str) -> list[tuple[Any, ...]]:
    """Return the rows of an object, sorted, without hidden columns."""
    rows = contents(root, f"public/{name}", hidden=False).to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)
