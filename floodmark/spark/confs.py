"""What a server is started with, and what every session of the engine relies on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import psutil

from floodmark.spark.jars import LOCAL_FILES
from floodmark.spark.remote import Remote

REMOTE_VARIABLE = "FLOODMARK_SPARK_REMOTE"
MEBIBYTE = 2**20

SEMANTIC: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Of equal keys of an object the last one counts, as in PostgreSQL.
    "spark.sql.variant.allowDuplicateKeys": "true",
}
"""Confs that decide results; set on the sessions of a remote server, asserted everywhere."""

PLANNING: Mapping[str, str] = {
    # What must hold of the rows of each part of a plan: to infer it, Spark rewrites every condition
    # by every alias above it. Of 24 sums of products this is millions of nodes and no end (ADR
    # 0019). What is of use in it, keys that are not NULL, the engine prints.
    "spark.sql.constraintPropagation.enabled": "false",
}
"""Confs that decide how long a query is planned; set wherever those are that decide results."""

_STATIC: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

_LOCAL: Mapping[str, str] = {
    "spark.app.name": "floodmark",
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    # Besides Connect's, which asks for a token, Spark listens on two ports of its own. Who cannot
    # prove a secret that the server makes at its start, and tells nobody, is not listened to.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
    # A client killed with -9 leaves its query running: these end it within about 20 s.
    "spark.connect.execute.manager.detachedTimeout": "10s",
    "spark.connect.execute.manager.maintenanceInterval": "2s",
    "spark.connect.execute.reattachable.senderMaxStreamDuration": "10s",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.maxConcurrentOutputFileWriters": "16",
    # Spark starts a thread for each exchange and each last stage until there are 1,024 of either.
    # Each thread keeps some 100 KiB of the query that it has served last.
    "spark.sql.shuffleExchange.maxThreadThreshold": "64",
    "spark.sql.resultQueryStage.maxThreadThreshold": "64",
    # Epochs repeat their queries: what was compiled for one serves the next, if it is still there.
    # The demo's epochs have 250 pieces of code, each under two class loaders. With Spark's 100
    # entries all of them were compiled anew in each epoch: 1,330 compilations, and 365 with these.
    "spark.sql.codegen.cache.maxEntries": "10000",
    "spark.sql.codegen.useIdInClassName": "false",
    # Each query describes its plan to a user interface that is not there; at length, by default.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.debug.maxToStringFields": "8",
    # What it would show of queries and tasks that are done is kept all the same, by the thousand.
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "1000",
    # A chmod for each file and folder was 2,400 processes in one run of the demo's pipeline.
    "spark.hadoop.fs.file.impl": LOCAL_FILES,
    # An operator takes memory by the page, 64 MB by default, and a broadcast 4 MB: too much for a
    # collector with some thousand rows at hand. Garbage collection was 22 % of a warm server's
    # time, and is 10 %.
    "spark.buffer.pageSize": "2m",
    "spark.broadcast.blockSize": "256k",
    "spark.broadcast.compress": "false",
    # Above it Spark lists paths with a job; 500 local paths: 2.0 s with, 0.07 s without.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # A million rows with long texts: 0.68 s in place of 0.89 s. Level 1 packs as well as 3; texts
    # that hardly ever come twice are given up as a dictionary earlier, for files a quarter larger.
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.hadoop.parquet.compression.codec.zstd.level": "1",
    "spark.hadoop.parquet.dictionary.page.size": "65536",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
}


@dataclass(frozen=True, slots=True)
class SparkConfig:
    """What a person can choose about Spark; equal values share one server.

    `cores` and `heap_mb` (mebibytes) describe the local server. `shuffle_partitions` is the number
    of cores unless set. `idle_minutes` is how long a server outlives its last client. `remote` is a
    Connect server that replaces the local one. `extra` are further confs.
    """

    cores: int
    heap_mb: int
    shuffle_partitions: int
    idle_minutes: float = 30.0
    remote: Remote | None = None
    # Credentials of object stores come this way.
    extra: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        assert self.cores > 0 and self.heap_mb > 0 and self.shuffle_partitions > 0, self
        assert self.idle_minutes > 0, self

    @property
    def session_confs(self) -> dict[str, str]:
        """Return the confs that a session must show at attach."""
        if self.remote is not None:
            return {**SEMANTIC, **PLANNING, **_STATIC}
        return {**self.server_confs}

    @property
    def server_confs(self) -> dict[str, str]:
        """Return the confs of the local server's command line."""
        return {
            **SEMANTIC,
            **PLANNING,
            **_STATIC,
            **_LOCAL,
            "spark.master": f"local[{self.cores}]",
            "spark.sql.shuffle.partitions": str(self.shuffle_partitions),
            **dict(self.extra),
        }

    def digest(self, *parts: str) -> str:
        """Return the name of the server for this configuration and further parts (versions)."""
        confs = (f"{key}={value}" for key, value in sorted(self.server_confs.items()))
        text = "\n".join([*confs, f"-Xmx{self.heap_mb}m", str(self.idle_minutes), *parts])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def default_config(environ: Mapping[str, str] = os.environ) -> SparkConfig:
    """Return the configuration for this machine: its cores, 40 % of its memory up to 8 GiB.

    `FLOODMARK_SPARK_REMOTE` names a Connect server to use in place of a local one.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    remote = environ.get(REMOTE_VARIABLE)
    memory_mb = psutil.virtual_memory().total // MEBIBYTE
    # Rounded so that a little more or less memory does not mean another server.
    heap_mb = max(1024, min(8192, int(memory_mb * 0.4) // 256 * 256))
    return SparkConfig(
        cores=cores or 1,
        heap_mb=heap_mb,
        shuffle_partitions=cores or 1,
        remote=Remote(remote) if remote else None,
    )
