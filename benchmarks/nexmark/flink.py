"""Flink in an environment of its own: installed once, a standalone cluster per run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.environments import python_with
from benchmarks.nexmark.data import SIDE_INPUT
from benchmarks.nexmark.queries import STREAMS, columns_of, query
from floodmark.scalar.types import Kind
from floodmark.spark.jars import spark_jars
from floodmark.spark.java import find_java

VERSION = "2.3.0"
PARALLELISM = 2
KEYS = {"person": "id", "auction": "id", "side_input": "key"}
START_SECONDS = 120
_TABLES = (*STREAMS, SIDE_INPUT)
_MAVEN = "https://repo1.maven.org/maven2"
_PARQUET = f"org/apache/flink/flink-sql-parquet/{VERSION}/flink-sql-parquet-{VERSION}.jar"
_CLIENT = Path(__file__).with_name("flink_client.py")
_OPTIONS = {
    "execution.target": "remote",
    "execution.checkpointing.interval": "30 s",
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.checkpointing.checkpoints-after-tasks-finish": "false",
    "parallelism.default": str(PARALLELISM),
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
    "table.local-time-zone": "UTC",
}
"""What Flink's own Nexmark benchmark sets, besides the time zone; checkpoints come oftener here."""


@dataclass(frozen=True)
class Flink:
    """An installed Flink: its home folder and its Python."""

    home: Path
    python: Path


def installed(cache: Path) -> Flink:
    """Install Flink from PyPI and the Parquet jar from Maven Central, unless that was done.

    Takes two minutes and 1 GB. Hadoop's classes, which the Parquet format needs, come with Spark.
    """
    environment = cache / f"flink-{VERSION}"
    python = python_with(environment, "bin/f2py", f"apache-flink=={VERSION}", "setuptools<81")
    home = environment / "lib" / "python3.11" / "site-packages" / "pyflink"
    _download(f"{_MAVEN}/{_PARQUET}", home / "lib" / Path(_PARQUET).name)
    for jar in spark_jars().glob("hadoop-client-*.jar"):
        if not (home / "lib" / jar.name).exists():
            shutil.copy(jar, home / "lib")
    for script in (home / "bin").glob("*.sh"):
        script.chmod(0o755)
    return Flink(home, python)


def _download(url: str, path: Path) -> None:
    if path.exists():
        return
    scratch = path.with_suffix(".part")
    with urllib.request.urlopen(url, timeout=300) as answer, scratch.open("wb") as file:
        shutil.copyfileobj(answer, file)
    scratch.rename(path)


@dataclass
class Cluster:
    """A running cluster and a client that submits to it, one job at a time."""

    rest: str
    client: subprocess.Popen[str]

    def run(self, name: str, landing: Path, *, keys: bool) -> float:
        """Run a query over all files to its end and return its job's seconds.

        Raises RuntimeError with Flink's reason where it refuses or fails.
        """
        tables = [_table(table, landing, keys=keys) for table in _TABLES]
        asked = {"name": name, "tables": tables, "query": query(name, "flink")}
        assert self.client.stdin is not None and self.client.stdout is not None
        self.client.stdin.write(json.dumps(asked) + "\n")
        self.client.stdin.flush()
        answer = json.loads(self.client.stdout.readline() or '{"error": "the client ended"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return float(_get(f"{self.rest}/jobs/{answer['job']}")["duration"]) / 1000


@contextmanager
def cluster(flink: Flink, folder: Path) -> Iterator[Cluster]:
    """Run a cluster of one task manager with two slots within the block."""
    conf = _configured(flink, folder)
    environment = {
        **os.environ,
        "FLINK_CONF_DIR": str(conf),
        "FLINK_LOG_DIR": str(folder / "log"),
        "FLINK_PID_DIR": str(folder),
        "JAVA_HOME": str(find_java().executable.parents[1]),
    }
    (folder / "log").mkdir()
    port = (folder / "port").read_text()
    rest = f"http://127.0.0.1:{port}"
    options = {**_OPTIONS, "rest.address": "127.0.0.1", "rest.port": port}
    with ExitStack() as stack:
        for script in ("jobmanager.sh", "taskmanager.sh"):
            command = [str(flink.home / "bin" / script), "start-foreground"]
            log = stack.enter_context((folder / "log" / f"{script}.out").open("w"))
            _started(stack, command, environment, stdout=log, stderr=subprocess.STDOUT)
        _wait_for_slots(rest)
        command = [str(flink.python), str(_CLIENT), json.dumps(options)]
        log = stack.enter_context((folder / "log" / "client.err").open("w"))
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        client = _started(stack, command, environment, stderr=log, text=True, **pipes)
        yield Cluster(rest, client)


def listed_in_order(data: Path, folder: Path) -> Path:
    """Return a folder with other names of the same files, which the system lists in their order.

    Flink reads files in the order in which a folder lists them. Read in another order, most events
    would be late and dropped.
    """
    for table in _TABLES:
        (folder / table).mkdir(parents=True)
        files = sorted((data / table).glob("*.parquet"))
        for file in files:
            (folder / table / file.name).touch()
        places = [entry.path for entry in os.scandir(folder / table)]
        for file, place in zip(files, places, strict=True):
            scratch = folder / "scratch"
            scratch.hardlink_to(file)
            scratch.replace(place)
        found = [os.stat(entry.path).st_ino for entry in os.scandir(folder / table)]
        assert found == [file.stat().st_ino for file in files], f"{folder} does not keep an order"
    return folder


def _configured(flink: Flink, folder: Path) -> Path:
    """Write the configuration of a cluster and return its folder."""
    conf = folder / "conf"
    shutil.copytree(flink.home / "conf", conf)
    port, rpc = _free_ports(2)
    (folder / "port").write_text(str(port))
    shipped = (conf / "config.yaml").read_text(encoding="utf-8")
    (java,) = [line.strip() for line in shipped.splitlines() if line.strip().startswith("all: ")]
    settings = {
        "env.java.opts.all": java.removeprefix("all: "),
        "jobmanager.rpc.address": "127.0.0.1",
        "jobmanager.rpc.port": rpc,
        "jobmanager.bind-host": "127.0.0.1",
        "jobmanager.memory.process.size": "1600m",
        "taskmanager.bind-host": "127.0.0.1",
        "taskmanager.host": "127.0.0.1",
        "taskmanager.numberOfTaskSlots": PARALLELISM,
        "taskmanager.memory.process.size": "8g",
        "taskmanager.memory.managed.fraction": "0.1",
        "rest.address": "127.0.0.1",
        "rest.port": port,
        "execution.checkpointing.dir": f"file://{folder}/checkpoints",
        "state.backend.type": "hashmap",
        "io.tmp.dirs": str(folder / "tmp"),
    }
    (folder / "tmp").mkdir()
    lines = [f"{key}: {json.dumps(value)}" for key, value in settings.items()]
    (conf / "config.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return conf


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for found in sockets:
            found.bind(("127.0.0.1", 0))
        return [int(found.getsockname()[1]) for found in sockets]


def _started(
    stack: ExitStack, command: list[str], environment: dict[str, str], **pipes: Any
) -> subprocess.Popen[Any]:
    """Start a process in a group of its own that ends with the block."""
    process = subprocess.Popen(command, env=environment, start_new_session=True, **pipes)
    stack.callback(_end, process)
    return process


def _end(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_for_slots(rest: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            if _get(f"{rest}/overview")["slots-total"] >= PARALLELISM:
                return
        except OSError:
            pass
        if time.monotonic() > deadline:
            raise RuntimeError(f"no Flink cluster within {START_SECONDS} s")
        time.sleep(0.5)


def _get(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


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
