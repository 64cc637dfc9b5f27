"""Views of TPC-H hold what their queries give after each kind of refresh."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tpch.engine import views
from benchmarks.tpch.lake import KINDS, Lake
from benchmarks.tpch.queries import TABLES
from floodmark.spark.session import Sessions
from tests.benchmarks import tpch_files

pytestmark = [pytest.mark.spark, pytest.mark.long]
SCALE, SHARE = 0.001, 0.1
CHOSEN = ("q1", "q4", "q13", "q17")


def test_views_follow_each_refresh(tmp_path: Path, sessions: Sessions) -> None:
    tpch_files.write(tmp_path / "files", SCALE)
    with (
        Lake(tmp_path / "files", tmp_path / "lake") as lake,
        views(lake.folder, tmp_path, CHOSEN, sessions) as found,
    ):
        for kind in KINDS:
            changed = lake.refresh(kind, SHARE)
            took = found.epoch()
            assert changed.keys() == took.of.keys() & set(TABLES)
            assert set(found.recompute().of) == set(CHOSEN)
            assert not found.differing() and not found.failed
        assert all(found.fm.execute(f"SELECT count(*) FROM {v}").rows[0][0] for v in CHOSEN)
