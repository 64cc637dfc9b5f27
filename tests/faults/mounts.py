"""Small file systems for tests, which are full or read-only when they have to be."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted_at(place: Path, mebibytes: int) -> Iterator[Path]:
    """Mount a file system of some MiB at a new folder; skip where nobody may mount one."""
    place.mkdir()
    size = f"size={mebibytes}m"
    command = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
