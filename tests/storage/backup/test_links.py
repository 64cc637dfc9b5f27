"""Links to folders in a warehouse: no walk follows them. No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.api import connect
from floodmark.errors import FloodmarkError
from floodmark.storage.backup.backup import back_up


@pytest.mark.parametrize("place", ["epochs/0/1.open.json", "catalog/round", "round"])
def test_a_link_back_to_the_warehouse_ends(place: str, tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    with connect(root) as fm:
        fm.execute("CREATE TABLE t (k INT)")
        link = root / "_floodmark" / place
        link.unlink(missing_ok=True)
        link.symlink_to(root)
        list(fm.verify())
    with pytest.raises(FloodmarkError, match="E04"):
        back_up(root, tmp_path / "backups")
