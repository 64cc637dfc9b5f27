"""Small queries are computed in the engine's process and by Spark, and both have the same rows."""

from __future__ import annotations

import shutil
import threading
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from pyspark.sql.connect.proto import Command

from floodmark.spark.in_process import command as here
from floodmark.spark.session import Sessions


class SideBySide:
    """Compares what is computed here with what Spark writes into a folder of its own.

    `computed` counts the queries that were computed here, `sent` the others, and `differences` has
    the texts of those that differ.
    """

    def __init__(self, sessions: Sessions, folder: Path) -> None:
        self.counts = Counter[str]()
        self.differences: list[str] = []
        self._sessions = sessions
        self._folder = folder
        self._carry_out = here.carry_out_here
        self._lock = threading.Lock()

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Compare all that is computed from now on."""
        patch.setattr(here, "carry_out_here", self._compare)
        patch.setattr(here, "_logger", self)

    def info(self, text: str, error: Exception, *, exc_info: bool) -> None:
        """Note what no query may raise; it is sent to Spark all the same."""
        with self._lock:
            self.differences.append("".join(traceback.format_exception(error)))

    def _compare(self, command: Any, observations: Mapping[str, Any]) -> bool:
        target = command.write_operation
        if target.path.startswith(str(self._folder)):
            return False
        before = set(Path(target.path).rglob("*.parquet"))
        done = self._carry_out(command, observations)
        with self._lock:
            self.counts["computed" if done else "sent"] += 1
            folder = self._folder / str(sum(self.counts.values()))
        if not done:
            return False
        ours = _rows(Path(target.path), set(Path(target.path).rglob("*.parquet")) - before)
        copy = Command()
        copy.CopyFrom(command)
        copy.write_operation.path = str(folder)
        metrics = {name: SimpleNamespace(_result={}, _set_error=print) for name in observations}
        self._sessions.main.client.execute_command(copy, metrics)
        theirs = _rows(folder, folder.rglob("*.parquet"))
        shutil.rmtree(folder, ignore_errors=True)
        counted = {name: observed._result for name, observed in observations.items()}
        expected = {name: observed._result for name, observed in metrics.items()}
        if (ours, counted) != (theirs, expected):
            with self._lock:
                self.differences.append(f"{command}\n{ours} {counted}\nnot\n{theirs} {expected}")
        return True


def _rows(folder: Path, files: Iterable[Path]) -> dict[str, tuple[list[str], list[str]]]:
    """Return the types of the columns of files, and their rows, by the folder that they are in."""
    found: dict[str, list[pa.Table]] = {}
    for path in files:
        table = pq.read_table(path, partitioning=None)
        if table.num_rows:
            place = str(path.parent.relative_to(folder))
            found.setdefault(place, []).append(table.select(sorted(table.column_names)))
    return {
        place: (
            sorted(f"{f.name} {f.type}".replace(" not null", "") for f in tables[0].schema),
            sorted(repr(list(row.values())) for table in tables for row in table.to_pylist()),
        )
        for place, tables in found.items()
    }
