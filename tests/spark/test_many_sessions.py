"""A server that has served many short sessions holds no more than one that has served few."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import psutil
import pytest

from floodmark.spark import server
from floodmark.spark.confs import SparkConfig
from floodmark.spark.session import open_sessions

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(7200)]

SESSIONS = int(os.environ.get("FLOODMARK_SOAK_SESSIONS", "300"))
"""Of a long soak 2,000; one takes about a second on two cores."""
TIMES = 1.05
"""How many times the memory after a third of the sessions that after the last one may be."""
BESIDE_MB = 512
"""What a server may hold beside its heap: classes, compiled code, stacks."""
SPARE = 16 * 2**20
"""Bytes that a garbage collector leaves sometimes, and sometimes not."""


def counters(pid: int) -> dict[str, int]:
    """Return the numbers that a JVM publishes about itself in its `hsperfdata` file."""
    (path,) = Path("/tmp").glob(f"hsperfdata_*/{pid}")
    data = path.read_bytes()
    order = "<" if data[4] else ">"
    at, count = struct.unpack_from(order + "ii", data, 24)
    found: dict[str, int] = {}
    for _ in range(count):
        size, name, length, kind, _, _, _, value = struct.unpack_from(order + "iiibbbbi", data, at)
        key = data[at + name : data.index(b"\0", at + name)].decode()
        if kind == ord("J") and length == 0:
            (found[key],) = struct.unpack_from(order + "q", data, at + value)
        at += size
    return found


def held(config: SparkConfig) -> dict[str, int]:
    """Return what a server holds after a collection: bytes of heap and metaspace, and counts."""
    with open_sessions(config) as opened:
        for _ in range(2):
            opened.main.sql("SELECT java_method('java.lang.System', 'gc')").collect()
        running = server.status(config)
        assert running.pid is not None
        process, known = psutil.Process(running.pid), counters(running.pid)
        heap = [v for k, v in known.items() if k.startswith("sun.gc.generation") and ".used" in k]
        return {
            "heap": sum(heap),
            "metaspace": known["sun.gc.metaspace.used"],
            "resident": process.memory_info().rss,
            "threads": process.num_threads(),
            "descriptors": process.num_fds(),
            "files": sum(1 for p in running.folder.rglob("*") if p.is_file()),
        }


def test_many_short_sessions_leave_nothing(own_config: SparkConfig) -> None:
    found: list[dict[str, int]] = []
    for i in range(SESSIONS + 1):
        if i in (SESSIONS // 3, SESSIONS):
            found.append(held(own_config))
            print(i, found[-1])
        with open_sessions(own_config) as opened:
            rows = opened.main.range(100).selectExpr(f"id % 7 AS k{i}").groupBy(f"k{i}").count()
            assert len(rows.collect()) == 7
            assert opened.ingest.range(2).count() == 2
    early, late = found
    # Compiled code of the queries stays, up to a number: each of these is another one.
    for what in ("heap", "metaspace"):
        assert late[what] <= TIMES * early[what] + SPARE, (what, found)
    # The heap's pages are used one after the other until all are: the rest is what could grow.
    assert late["resident"] <= (own_config.heap_mb + BESIDE_MB) * 2**20, found
    assert late["threads"] <= early["threads"] + 20, found
    assert late["descriptors"] <= early["descriptors"] + 20, found
    assert late["files"] <= early["files"] + 5, found
