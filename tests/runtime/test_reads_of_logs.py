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
    """Counts the records that this process opens below a folder, per log, and lists of commits."""

    def __init__(self) -> None:
        self.below: Path | None = None
        self.counts: Counter[str] = Counter()
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


def test_an_epoch_lists_no_commits_of_tables_that_are_cleaned_up(
    opened: Opened, tmp_path: Path
) -> None:
    with connect(tmp_path) as fm:
        fm.execute("CREATE TABLE t (k INT)")
        handle = fm.store.open("public/t")
        fm.store.commit(handle, metadata={"maintenance": "merge"}, data_change=False)
        fm.store.checkpoint("public/t")
        first, last = (
            tmp_path / "public" / "t" / "_delta_log" / name
            for name in ("00000000000000000000.json", "_last_checkpoint")
        )
        first.unlink()
        for known in (True, False):
            if not known:
                last.unlink()
            opened.below = tmp_path
            fm.scheduler.run_once()
            opened.below = None
            assert not opened.listed
