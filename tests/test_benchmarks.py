"""The benchmarks print the ratios that they are for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.profiling import profiled
from tests.benchmarks import tpch_files


def printed(module: str, *options: str) -> str:
    """Return what a quick benchmark prints."""
    command = [sys.executable, "-m", f"benchmarks.{module}", "--quick", *options]
    ended = subprocess.run(
        command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=500
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_what_a_profile_takes_the_time_of_is_there() -> None:
    with profiled() as profile:
        assert profile.lines() == []


@pytest.mark.spark
def test_an_epoch_is_compared_with_delta_spark() -> None:
    text = printed("epoch", "--only", "append")
    assert re.search(r"│ delta-spark .*│ \d+\.\d\d +│ ≤ 0\.33 +│", text), text


@pytest.mark.spark
@pytest.mark.long
def test_epochs_are_compared_after_more_and_more_history() -> None:
    text = printed("history", "--only", "local")
    assert re.search(r"│ \d+\.\d\d +│ \d+\.\d\d +│ ≤ 1\.1 +│", text), text


@pytest.mark.spark
@pytest.mark.long
def test_small_changes_are_compared_with_recomputation() -> None:
    text = printed("delta")
    assert len(re.findall(r"│ \d+\.\d\d +│ ≥ (?:3\.5|2) +│", text)) == 6, text


@pytest.mark.spark
@pytest.mark.long
def test_what_a_source_stores_is_compared_with_what_it_received() -> None:
    text = printed("thinning")
    assert re.search(r"│ thin +│ 999 +│ [\d,]+ +│ 0\.0\d{3} +│", text), text


@pytest.mark.spark
@pytest.mark.long
def test_nexmark_is_compared_with_spark() -> None:
    text = printed("nexmark", "--queries", "q2", "--systems", "floodmark,floodmark-20,batch")
    assert re.search(r"│ q2 +(│ +[\d,]+ +){3}│ +\d+\.\d\d +│", text) is not None, text


@pytest.mark.spark
@pytest.mark.long
def test_views_of_tpch_are_compared_with_their_queries(tmp_path: Path) -> None:
    tpch_files.write(tmp_path / "files", 0.001)
    text = printed("tpch", "--files", str(tmp_path / "files"), "--views", "q6")
    assert re.search(r"│ q6 +(│ +\d+\.\d\d / \d+\.\d\d: \d+\.\d +){3}│", text), text
