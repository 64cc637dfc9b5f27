"""A sink that cannot write though it seems so: one try a run, pauses that grow, nothing left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from floodmark.epochs.unreachable_sinks import retry_pause
from floodmark.limits import LIMITS
from floodmark.spark.session import Sessions
from floodmark.testing import FixedClock
from tests.faults.mounts import mounted_at
from tests.warehouses import NOW, READINGS, Site, put, readings

pytestmark = pytest.mark.spark

SINK = """
CREATE SINK {name} AS SELECT id, k, v FROM s WITH (connector = '{name}', path = '{out}/{name}',
type = 'append-only') FORMAT PLAIN ENCODE {encode};
"""
FREE = 150_000
"""Bytes: a probe fits, and not the rows."""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder on a file system of 4 MiB."""
    with mounted_at(tmp_path / "small", mebibytes=4) as place:
        yield place


def _leave_free(small: Path, bytes_: int) -> Path:
    ballast = small / "ballast"
    with ballast.open("wb", buffering=0) as file:
        file.write(b"0" * (2**22 - bytes_))
    return ballast


def _on_disk(small: Path) -> list[str]:
    return sorted(str(p.relative_to(small)) for p in small.rglob("*"))


@pytest.mark.parametrize(
    "name", ["files", pytest.param("delta", marks=pytest.mark.long)]
)  # fmt: skip
def test_a_disk_without_room(tmp_path: Path, small: Path, sessions: Sessions, name: str) -> None:
    site = Site(tmp_path, sessions)
    encode = "JSON" if name == "files" else "PARQUET"
    sink = SINK.format(name=name, out=small, encode=encode)
    site.define(READINGS, sink if name == "files" else sink.split(" FORMAT ")[0] + ";")
    put(site.landing, "0", readings(0, 10))
    with site.connect() as fm:
        fm.advance(now=NOW)
        ballast = _leave_free(small, FREE)
        before = _on_disk(small)
        put(site.landing, "1", readings(10, 60_000))
        clock = fm.warehouse.clock
        assert isinstance(clock, FixedClock)
        for tries in range(1, 5):
            sealed = fm.warehouse.log.head().sealed
            assert len(fm.advance(now=NOW)) == 1
            event = fm.warehouse.log.suspensions()[f"sink:{name}"]
            assert (event.code, event.tries) == ("E0741", tries)
            assert fm.warehouse.log.head().sealed == sealed + 1
            assert _on_disk(small) == before
            if tries > 1:
                assert not fm.has_new() and fm.advance(now=NOW) == []
            clock.set(clock.now() + retry_pause(tries, limits=LIMITS) + timedelta(seconds=1))
            assert fm.has_new()
        with site.connect() as other:
            assert len(other.advance(now=NOW)) == 1, "the next run tries again at once"
            assert other.warehouse.log.suspensions()[f"sink:{name}"].tries == 5
        ballast.unlink()
        with site.connect() as other:
            other.advance(now=NOW)
            assert not other.warehouse.log.suspensions()
            ids = [r[0] for r in other.execute("SELECT id FROM s").rows]
    assert _sent(small / name) == sorted(ids)


def _sent(folder: Path) -> list[int]:
    if folder.name == "delta":
        return sorted(DeltaTable(str(folder)).to_pyarrow_table()["id"].to_pylist())
    lines = (line for p in folder.glob("*.json") for line in p.read_text().splitlines())
    rows = (json.loads(line) for line in lines if line.startswith('{"id'))
    return sorted(row["id"] for row in rows)
