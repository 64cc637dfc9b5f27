"""Repeated measurements, and what a Connect client sends while they run."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
from rich.console import Console

from floodmark.spark.confs import SparkConfig, default_config
from floodmark.spark.server import status


@dataclass(frozen=True)
class Timing:
    """Wall times of equal repetitions, in seconds."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Return the median in seconds."""
        return statistics.median(self.seconds)

    def as_json(self) -> dict[str, Any]:
        """Return median, min, max and the number of repetitions."""
        return {
            "median_s": round(self.median, 4),
            "min_s": round(min(self.seconds), 4),
            "max_s": round(max(self.seconds), 4),
            "repetitions": len(self.seconds),
        }

    def __str__(self) -> str:
        return f"{self.median:.3f} s ({min(self.seconds):.3f} to {max(self.seconds):.3f})"


def memory_peaks(config: SparkConfig | None = None) -> dict[str, int]:
    """Return the most bytes that this process and Spark's server have had in memory so far.

    The server is that of the default configuration unless another one is given.
    """
    peaks = {"engine": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    pid = status(config or default_config()).pid
    if pid is not None:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
        peaks["server"] = int(peak) * 1024
    return peaks


def print_memory(console: Console, peaks: Mapping[str, int]) -> None:
    """Print what `memory_peaks` has found."""
    found = ", ".join(f"{name} {peak / 1e6:,.0f} MB" for name, peak in peaks.items())
    console.print(f"memory at most: {found}")


def timed(action: Callable[[], object]) -> float:
    """Return the wall time of one call in seconds."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def interleaved(
    actions: dict[str, Callable[[], object]], warm_up: int, repetitions: int
) -> dict[str, Timing]:
    """Repeat several actions in turn, so that all of them meet the same noise."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for i in range(warm_up + repetitions):
        for name, action in actions.items():
            seconds = timed(action)
            if i >= warm_up:
                times[name].append(seconds)
    return {name: Timing(tuple(values)) for name, values in times.items()}


@dataclass
class Requests:
    """Plans that a client had executed, and those it had analysed."""

    executed: int = 0
    analysed: int = 0
    seconds: list[float] = field(default_factory=list)


@contextmanager
def counted(client: Any) -> Iterator[Requests]:
    """Count the requests of a Connect client; an executed plan is one Spark query."""
    found = Requests()
    kinds = {"execute_command": "executed", "to_table": "executed", "_analyze": "analysed"}
    with ExitStack() as stack:
        for name, what in kinds.items():
            counting = _counting(getattr(client, name), found, what)
            stack.enter_context(patch.object(client, name, counting))
        yield found


def _counting(function: Callable[..., Any], found: Requests, what: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            found.seconds.append(time.perf_counter() - started)
            setattr(found, what, getattr(found, what) + 1)

    return call


def machine() -> dict[str, Any]:
    """Return what decides the numbers: processors, memory, load, versions."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "load_1min": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": {
            name: version(name)
            for name in ("floodmark", "pyspark", "delta-spark", "deltalake", "pyarrow")
        },
    }
