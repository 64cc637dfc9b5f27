"""Counts the records of the logs that are opened, for tests of what reads them how often."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class Opened:
    """Counts the records that this process opens below a folder, and lists of commits."""

    def __init__(self) -> None:
        self.below: Path | None = None
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.listed: list[Path] = []
        sys.addaudithook(self._seen)

    def _seen(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.below is None or event not in ("open", "os.listdir", "os.scandir"):
            return
        path = Path(str(arguments[0]))
        if event != "open":
            if path.name == "_delta_log" and path.is_relative_to(self.below):
                self.listed.append(path)
        elif path.suffix == ".json" and path.is_relative_to(self.below):
            self.counts[path.relative_to(self.below).parts[0]] += 1
            self.kinds[path.name.split(".")[-2]] += 1


@pytest.fixture(name="opened", scope="module")
def count_opened() -> Iterator[Opened]:
    """Yield the counter of this process: a hook stays as long as the process does."""
    counter = Opened()
    yield counter
    counter.below = None
