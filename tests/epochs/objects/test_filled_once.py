"""CREATE TABLE … AS WITH (continuous = false): the table and its rows are one epoch, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import floodmark
from floodmark import failpoints
from floodmark.errors import FloodmarkError
from floodmark.spark.session import Sessions
from floodmark.storage.warehouse import ENGINE

pytestmark = pytest.mark.spark
ONCE = "CREATE TABLE {} WITH (continuous = false) AS SELECT k, {} AS v FROM src"
POINTS = ("change_planned", "change_logged", "offsets_logged", "files_written", "before_seal")


class _Killed(BaseException):
    """The process ends here."""


def _at_rest(fm: floodmark.Floodmark) -> set[str]:
    """Return the tables whose statements have left rows."""
    folder = fm.root / ENGINE / "dml"
    return {path.name.rpartition("-")[0] for path in folder.iterdir()}


def test_a_table_that_is_filled_once_is_one_epoch(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fm = floodmark.connect(tmp_path / "w", sessions=lambda: sessions)
    fm.execute("CREATE TABLE src (k INT PRIMARY KEY, v INT)")
    fm.execute("INSERT INTO src VALUES (1, 10), (2, 0)")
    before = fm.warehouse.log.head().sealed
    done = fm.execute(ONCE.format("a", "v"))
    assert (done.status, done.rowcount, done.notices) == ("CREATE_TABLE", 2, ())
    assert fm.warehouse.log.head().sealed == before + 1
    assert {r.result.name for r in fm.replay(epoch=before + 1)} == {"SAME"}
    statement = ONCE.format("bad", "1 / v")
    with pytest.raises(FloodmarkError) as refused:
        fm.execute(statement)
    assert refused.value.span is not None and refused.value.span.source == statement
    fm.execute(ONCE.format("none", "v") + " WHERE k > 5")
    assert "bad" not in fm.deployed.catalog.objects
    assert fm.warehouse.log.head().sealed == before + 2
    assert _at_rest(fm) == {"src", "a"}, "rows that no epoch takes in do not stay"
    for point in POINTS:

        def die(name: str, point: str = point) -> None:
            if name == point:
                raise _Killed(name)

        with monkeypatch.context() as patched, pytest.raises(_Killed):
            patched.setattr(failpoints, "reach", die)
            fm.execute(ONCE.format(point, "v"))
        fm.close()
        fm = floodmark.connect(tmp_path / "w", sessions=lambda: sessions)
        fm.advance()
        assert (point in fm.deployed.catalog.objects) == (point != POINTS[0])
        if point != POINTS[0]:
            rows = fm.execute(f"SELECT * FROM {point} ORDER BY k").rows
            assert rows == ((1, 10), (2, 0))
    fm.close()
