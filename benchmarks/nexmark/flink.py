"""The ways in which Flink runs a query: with keys or without, and where rows and state go."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.nexmark.data import SIDE_INPUT, dealt
from benchmarks.nexmark.flink_cluster import PARALLELISM, Cluster, Flavour, cluster, installed
from benchmarks.nexmark.queries import STREAMS, columns_of, keeps_state, query, upsert_key
from floodmark.scalar.types import Kind

VERSION = "2.3.0"
DURABLE_VERSION = "2.1.3"
"""The newest Flink that Iceberg has a connector for is 2.1."""
KEYS = {"person": "id", "auction": "id", "side_input": "key"}
_TABLES = (*STREAMS, SIDE_INPUT)
_PARQUET = f"org/apache/flink/flink-sql-parquet/{VERSION}/flink-sql-parquet-{VERSION}.jar"
_ICEBERG = (
    "org/apache/iceberg/iceberg-flink-runtime-2.1/1.11.0/iceberg-flink-runtime-2.1-1.11.0.jar"
)
_OPTIONS = {
    "execution.checkpointing.interval": "30 s",
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
    "table.local-time-zone": "UTC",
}
"""What Flink's own Nexmark benchmark sets, besides the time zone; checkpoints come oftener here."""
_NO_LAST_CHECKPOINT = {"execution.checkpointing.checkpoints-after-tasks-finish": "false"}
"""What it sets, too: nobody needs the last rows committed that a blackhole takes."""


@dataclass(frozen=True)
class Way:
    """How Flink runs a query; rows that are not `durable` go into a blackhole."""

    keys: bool = True
    backend: str = "hashmap"
    durable: bool = False

    @property
    def flavour(self) -> Flavour:
        """Return which Flink that is."""
        if self.durable:
            return Flavour(DURABLE_VERSION, (_PARQUET, _ICEBERG), self.backend)
        return Flavour(VERSION, (_PARQUET,), self.backend)

    @property
    def options(self) -> dict[str, str]:
        """Return what a job is configured with."""
        return _OPTIONS if self.durable else {**_OPTIONS, **_NO_LAST_CHECKPOINT}

    def sinks(self, name: str, folder: Path) -> dict[str, Any]:
        """Return the options of the sinks for a query that appends and for one that updates."""
        if not self.durable:
            return {"append": {"connector": "blackhole"}, "update": {"connector": "blackhole"}}
        path = f"file://{folder}"
        iceberg = {
            "connector": "iceberg",
            "catalog-type": "hadoop",
            "catalog-name": "nexmark",
            "warehouse": path,
            "catalog-database": "nexmark",
            "catalog-table": name,
            "format-version": "2",
            "write.upsert.enabled": "true",
        }
        files = {"connector": "filesystem", "path": path, "format": "parquet"}
        return {"append": files, "update": iceberg, "key": upsert_key(name)}


WAYS = {
    "flink-keys": Way(),
    "flink": Way(keys=False),
    "flink-durable": Way(durable=True),
    "flink-rocksdb": Way(backend="rocksdb"),
}


def left_out(system: str, name: str) -> str | None:
    """Return why a query is not run on a system, None if it is.

    >>> left_out("flink-rocksdb", "q0")
    'keeps no state'
    """
    state_matters = system in WAYS and WAYS[system].backend != "hashmap"
    return "keeps no state" if state_matters and not keeps_state(name) else None


@dataclass(frozen=True)
class Ran:
    """A job that ended: its seconds, and the statement that makes its sink a table."""

    seconds: float
    sink: str


class Clusters:
    """Runs queries in every way, on one cluster at a time: two would take too much memory."""

    def __init__(self, cache: Path, folder: Path) -> None:
        self._cache = cache
        self._folder = folder
        self._stack = ExitStack()
        self._starts = 0
        self._flavour: Flavour | None = None
        self._cluster: Cluster | None = None

    def __enter__(self) -> Clusters:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def install(self, systems: Sequence[str]) -> None:
        """Fetch what the systems need, which the first of them would do."""
        for flavour in {WAYS[system].flavour: None for system in systems if system in WAYS}:
            installed(self._cache, flavour)

    def of(self, way: Way) -> Cluster:
        """Return the cluster for a way, which lives until one of another flavour is asked for."""
        if self._cluster is None or self._flavour != way.flavour:
            self._cluster = None
            self._stack.close()
            self._starts += 1
            flink, backend = installed(self._cache, way.flavour), way.flavour.backend
            started = cluster(flink, backend, self._folder / str(self._starts))
            self._cluster = self._stack.enter_context(started)
            self._flavour = way.flavour
        return self._cluster

    def run(self, way: Way, name: str, data: Path, folder: Path) -> Ran:
        """Run a query over all rows to its end; what is durable is written into a folder.

        Flink gives files to its readers in no order, and drops as late what is behind their times:
        each reader gets one file, which goes through all times.
        Raises RuntimeError with Flink's reason where it refuses or fails.
        """
        running, landing = self.of(way), dealt(data, PARALLELISM)
        answer = running.ask(
            {
                "name": name,
                "options": way.options,
                "tables": [_table(table, landing, keys=way.keys) for table in _TABLES],
                "query": query(name, "flink"),
                "sinks": way.sinks(name, folder),
            }
        )
        return Ran(running.duration(answer["job"]), answer["sink"])

    def written(self, way: Way, ran: Ran) -> list[list[str]]:
        """Return the rows that a durable run wrote, as texts; Flink reads them itself."""
        asked = {"name": "read", "tables": [ran.sink], "query": "SELECT * FROM sink"}
        rows: list[list[str]] = self.of(way).ask(asked)["rows"]
        return rows


def _table(name: str, landing: Path, *, keys: bool) -> str:
    """Return the statement that creates one of the tables over its files."""
    parts = [f"`{f.name}` {_type(f.type.kind)}" for f in columns_of(name)]
    if any(f.type.kind is Kind.TIMESTAMP for f in columns_of(name)):
        parts.append("WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND")
    else:
        parts.append("proc AS PROCTIME()")
    if keys and name in KEYS:
        parts.append(f"PRIMARY KEY (`{KEYS[name]}`) NOT ENFORCED")
    return (
        f"CREATE TEMPORARY TABLE {name} ({', '.join(parts)}) WITH "
        f"('connector' = 'filesystem', 'path' = 'file://{landing / name}', 'format' = 'parquet')"
    )


def _type(kind: Kind) -> str:
    """Return Flink's word for a type; an event time has milliseconds there."""
    return {Kind.BIGINT: "BIGINT", Kind.VARCHAR: "STRING", Kind.TIMESTAMP: "TIMESTAMP(3)"}[kind]
