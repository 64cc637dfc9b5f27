"""Flink in environments of their own, installed once, and a standalone cluster of it."""

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
from floodmark.spark.jars import spark_jars
from floodmark.spark.java import find_java

PARALLELISM = 2
START_SECONDS = 120
_MAVEN = "https://repo1.maven.org/maven2"
_CLIENT = Path(__file__).with_name("flink_client.py")
_MANAGED = {"hashmap": "0.1", "rocksdb": "0.4"}
"""The share of memory that is not on the heap, by state backend; RocksDB's is Flink's default."""


@dataclass(frozen=True)
class Flavour:
    """Which Flink a cluster runs: its version, jars of Maven Central and its state backend."""

    version: str
    jars: tuple[str, ...]
    backend: str


@dataclass(frozen=True)
class Flink:
    """An installed Flink: its home folder and its Python."""

    home: Path
    python: Path


def installed(cache: Path, flavour: Flavour) -> Flink:
    """Install Flink from PyPI and jars from Maven Central, unless that was done.

    Takes two minutes and 1 GB. Hadoop's classes, which Parquet and Iceberg need, come with Spark.
    """
    wanted = (f"apache-flink=={flavour.version}", "setuptools<81")
    python = python_with(_environment(cache, flavour), "bin/f2py", *wanted)
    home = _home(cache, flavour)
    for jar in flavour.jars:
        _download(f"{_MAVEN}/{jar}", home / "lib" / Path(jar).name)
    for found in spark_jars().glob("hadoop-client-*.jar"):
        if not (home / "lib" / found.name).exists():
            shutil.copy(found, home / "lib")
    for script in (home / "bin").glob("*.sh"):
        script.chmod(0o755)
    return Flink(home, python)


def is_installed(cache: Path, flavour: Flavour) -> bool:
    """Tell whether nothing of a Flink has to be fetched."""
    lib = _home(cache, flavour) / "lib"
    return all((lib / Path(jar).name).exists() for jar in flavour.jars)


def _environment(cache: Path, flavour: Flavour) -> Path:
    return cache / f"flink-{flavour.version}"


def _home(cache: Path, flavour: Flavour) -> Path:
    packages = _environment(cache, flavour) / "lib" / "python3.11" / "site-packages"
    return packages / "pyflink"


def _download(url: str, path: Path) -> None:
    if path.exists():
        return
    scratch = path.with_suffix(".part")
    with urllib.request.urlopen(url, timeout=300) as answer, scratch.open("wb") as file:
        shutil.copyfileobj(answer, file)
    scratch.rename(path)


@dataclass(eq=False)
class Cluster:
    """A running cluster and a client that submits to it, one job at a time."""

    rest: str
    client: subprocess.Popen[str]

    def ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return what the client answers; raises RuntimeError with Flink's reason."""
        assert self.client.stdin is not None and self.client.stdout is not None
        self.client.stdin.write(json.dumps(asked) + "\n")
        self.client.stdin.flush()
        text = self.client.stdout.readline() or '{"error": "the client ended"}'
        answer: dict[str, Any] = json.loads(text)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def duration(self, job: str) -> float:
        """Return the seconds of a job that ended."""
        return float(_get(f"{self.rest}/jobs/{job}")["duration"]) / 1000


@contextmanager
def cluster(flink: Flink, backend: str, folder: Path) -> Iterator[Cluster]:
    """Run a cluster of one task manager with two slots within the block, in a folder of its own."""
    folder.mkdir(parents=True)
    conf = _configured(flink, backend, folder)
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
    options = {
        "execution.target": "remote",
        "parallelism.default": str(PARALLELISM),
        "rest.address": "127.0.0.1",
        "rest.port": port,
    }
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


def _configured(flink: Flink, backend: str, folder: Path) -> Path:
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
        "taskmanager.memory.managed.fraction": _MANAGED[backend],
        "rest.address": "127.0.0.1",
        "rest.port": port,
        "execution.checkpointing.dir": f"file://{folder}/checkpoints",
        "execution.checkpointing.incremental": True,
        "state.backend.type": backend,
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
