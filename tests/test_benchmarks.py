"""The benchmarks print the ratios that they are for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
def test_an_epoch_is_compared_with_delta_spark() -> None:
    command = [sys.executable, "-m", "benchmarks.epoch", "--quick", "--only", "append"]
    ended = subprocess.run(
        command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=500
    )
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"│ delta-spark .*│ \d+\.\d\d +│ ≤ 0\.33 +│", ended.stdout), ended.stdout
