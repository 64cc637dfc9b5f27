"""How often an epoch reads the logs does not go by how many objects there are. No Spark."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from floodmark.api import connect
from tests.opened_records import Opened, count_opened  # noqa: F401


def _reads(opened: Opened, root: Path, objects: int) -> Counter[str]:
    with connect(root) as fm:
        for i in range(objects):
            fm.execute(f"CREATE TABLE t{i} (k INT)")
        opened.counts.clear()
        opened.below = root / "_floodmark"
        fm.loop.run_once()
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
        handle = fm.store.open("_rows/public/t")
        fm.store.commit(handle, metadata={"maintenance": "merge"}, data_change=False)
        fm.store.checkpoint("_rows/public/t")
        first, last = (
            tmp_path / "_rows" / "public" / "t" / "_delta_log" / name
            for name in ("00000000000000000000.json", "_last_checkpoint")
        )
        first.unlink()
        for known in (True, False):
            if not known:
                last.unlink()
            opened.below = tmp_path
            fm.loop.run_once()
            opened.below = None
            assert not opened.listed
