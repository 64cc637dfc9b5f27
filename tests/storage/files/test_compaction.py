"""Many small epochs stay few files, and no row is rewritten often."""

from __future__ import annotations

import pytest

from floodmark.limits import LIMITS, Limits
from floodmark.storage.files.compaction import plan_compaction
from floodmark.storage.table import DataFile


@pytest.mark.parametrize("size", [900, 30_000, 3_000_000])
def test_three_hundred_epochs_stay_few_files(size: int) -> None:
    files: list[DataFile] = []
    written = 0
    for epoch in range(300):
        files.append(DataFile(f"{epoch}", size, 10))
        for n, group in enumerate(plan_compaction(files, LIMITS)):
            files = [file for file in files if file not in group]
            total = sum(file.size for file in group)
            files.append(DataFile(f"{epoch}-{n}", total, sum(file.rows for file in group)))
            written += total
        assert len(files) <= 50
    assert sum(file.rows for file in files) == 3000
    assert written <= 5 * 300 * size


def test_large_files_rest() -> None:
    files = [DataFile(str(i), 100, 1) for i in range(10)]
    assert plan_compaction(files, Limits(compact_bytes=150)) == []


def test_a_group_keeps_below_the_target() -> None:
    files = [DataFile(str(i), 100, 1) for i in range(20)]
    groups = plan_compaction(files, Limits(compact_bytes=1000))
    assert [len(group) for group in groups] == [10, 10]
