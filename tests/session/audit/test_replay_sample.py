"""The epochs of a sample are looked for, and no more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.api import connect
from floodmark.session.audit import audit


def test_as_many_epochs_are_looked_at_as_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    monkeypatch.setattr(audit, "_touches", lambda _, epoch, __: looked.append(epoch) or True)
    with connect(tmp_path / "warehouse") as fm:
        for name in "abcd":
            fm.execute(f"CREATE TABLE {name} (k INT PRIMARY KEY)")
        assert audit._epochs(fm.warehouse, None, 2, None) == sorted(looked)
    assert len(looked) == 2
