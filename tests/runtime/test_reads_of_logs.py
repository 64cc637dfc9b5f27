"""How often an epoch reads the logs does not go by how many objects there are. No Spark."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floodmark.api import connect


class Opened:
    """Counts the records that this process opens below a folder, per log."""

    def __init__(self) -> None:
        self.below: Path | None = None
        self.counts: Counter[str] = Counter()
        sys.addaudithook(self._seen)

    def _seen(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and self.below is not None and isinstance(arguments[0], str):
            path = Path(arguments[0])
            if path.suffix == ".json" and path.is_relative_to(self.below):
                self.counts[path.relative_to(self.below).parts[0]] += 1


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    """Yield the counter of this process: a hook stays as long as the process does."""
    counter = Opened()
    yield counter
    counter.below = None


def _reads(opened: Opened, root: Path, objects: int) -> Counter[str]:
    with connect(root) as fm:
        for i in range(objects):
            fm.execute(f"CREATE TABLE t{i} (k INT)")
        opened.counts.clear()
        opened.below = root / "_floodmark"
        fm.scheduler.run_once()
        opened.below = None
    return Counter(opened.counts)


def test_an_epoch_reads_the_logs_as_often_for_many_objects_as_for_few(
    opened: Opened, tmp_path: Path
) -> None:
    few = _reads(opened, tmp_path / "few", 2)
    many = _reads(opened, tmp_path / "many", 12)
    assert few == many
    # The definitions are known since they were logged.
    assert few["catalog"] == 0
