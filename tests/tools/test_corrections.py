"""Closed windows computed once more with the rows that came late: what is written, and refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from floodmark.api import Floodmark
from floodmark.errors import DataError, FloodmarkError
from floodmark.scalar.types import Schema
from floodmark.storage.table import DataFile, Handle
from floodmark.tables.tables import Tables
from floodmark.tools.corrections.correct import CorrectionResult, EpochSpan, correct, parse_time
from tests.warehouses import NOW, READINGS, START, WINDOWED, Reading, Site, put

pytestmark = pytest.mark.spark

Files = Sequence[DataFile] | None

VIEWS = """
CREATE MATERIALIZED VIEW given AS SELECT id, k, ts, v FROM s WHERE v IS NOT NULL;
CREATE MATERIALIZED VIEW per_key AS
SELECT window_end, k, sum(v) AS sv FROM TUMBLE(given, ts, INTERVAL '1 hour')
GROUP BY window_end, k HAVING sum(v) < 10 EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW rows_of AS SELECT k, ts, map_from_key_values(array['v'], array[v]) AS m
FROM s EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW st AS SELECT k, count(*) AS n FROM s GROUP BY k;
"""
ON_TIME: list[Reading] = [(1, "a", 10, 5), (2, "a", 70, 6), (3, "b", 130, 7)]
LATER: list[Reading] = [(4, "a", 300, 1)]
LATE: list[Reading] = [(5, "a", 15, 8), (6, "b", 190, 2), (7, "a", 20, None)]


def _backfill(
    fm: Floodmark, name: str, first: str = "2013-01-01", end: int = 4
) -> CorrectionResult:
    closed = datetime.fromisoformat(f"{START.isoformat()}+00:00") + timedelta(hours=end)
    return correct(fm, name, EpochSpan(parse_time(first), closed))


def _rows(fm: Floodmark, query: str) -> list[tuple[object, ...]]:
    return sorted(fm.execute(query).rows, key=repr)


@pytest.fixture
def filled(site: Site) -> Site:
    """Return a site in which rows came late for windows that were closed."""
    site.define(READINGS, WINDOWED, VIEWS)
    put(site.landing, "0", ON_TIME)
    put(site.landing, "1", LATER)
    with site.connect() as fm:
        fm.advance(now=NOW)
        put(site.landing, "2", LATE)
        fm.advance(now=NOW)
    return site


def test_late_rows_correct_closed_windows_once(filled: Site) -> None:
    with filled.connect() as fm:
        assert _backfill(fm, "h", end=2).rows == {"-U": 1, "+U": 1}
        done = _backfill(fm, "h")
        assert done.rows == {"+I": 1} and done.backfill == 2
        assert not _backfill(fm, "h").rows
        hour = timedelta(hours=1)
        assert _rows(fm, "SELECT backfill, kind, window_start, n, sv FROM h__corrections") == [
            (1, "+U", START, 3, 13),
            (1, "-U", START, 1, 5),
            (2, "+I", START + 3 * hour, 1, 2),
        ]
        # What was emitted stays so, and the next late row is told against what is corrected.
        assert (START, 1, 5) in _rows(fm, "SELECT window_start, n, sv FROM h")
        put(filled.landing, "3", [(8, "c", 30, 4)])
        fm.advance(now=NOW)
        assert _backfill(fm, "h").rows == {"-U": 1, "+U": 1}
        assert _rows(fm, "SELECT kind, n, sv FROM h__corrections WHERE backfill = 3") == [
            ("+U", 4, 17), ("-U", 3, 13),
        ]  # fmt: skip
        log = filled.root / "warehouse/_corrections/public/h/_delta_log"
        lost = max(log.glob("*.json"))
        aside = lost.rename(log / "lost")
        with pytest.raises(DataError, match="E0434"):
            _backfill(fm, "h")
        aside.rename(lost)
        fm.execute("DROP MATERIALIZED VIEW h")
        assert not fm.store.exists("_corrections/public/h")


def test_late_rows_reach_a_view_through_those_below_it(filled: Site) -> None:
    with filled.connect() as fm:
        assert _backfill(fm, "per_key", end=5).rows == {"-D": 1, "+I": 1}
        assert _rows(fm, "SELECT kind, k, sv FROM per_key__corrections") == [
            ("+I", "b", 2), ("-D", "a", 5),
        ]  # fmt: skip
        assert _backfill(fm, "rows_of").rows == {"+I": 3}
        assert not _backfill(fm, "rows_of").rows


def test_files_of_other_times_are_not_read(filled: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    read: dict[str, int] = {}
    whole = Tables.read

    def spy(self: Tables, handle: Handle, columns: Schema, files: Files = None) -> object:
        read[handle.table] = len(handle.files if files is None else files)
        return whole(self, handle, columns, files)

    with filled.connect() as fm:
        monkeypatch.setattr(Tables, "read", spy)
        assert _backfill(fm, "h", end=1).rows == {"-U": 1, "+U": 1}
        first, stored = read["_rows/public/s"], len(fm.store.open("_rows/public/s").files)
        assert _backfill(fm, "h", end=4).rows == {"+I": 1}
        assert first < stored
        assert not _backfill(fm, "h", first="2012-01-01", end=-1).rows
        assert read["_rows/public/s"] == read["_rows/public/h"] == 0


def test_what_cannot_be_corrected_is_refused(filled: Site) -> None:
    with filled.connect() as fm:
        for name, first, end, code in (
            ("st", "2013-01-01", 4, "E0301"),
            ("h", "2013-01-01T04:00", 4, "E0302"),
            ("h", "2013-01-01", 5, "E0303"),
        ):
            with pytest.raises(FloodmarkError) as raised:
                _backfill(fm, name, first, end)
            assert raised.value.code == code
        assert _backfill(fm, "h").rows
        put(filled.landing, "3", [(9, "c", 900, 4)])
        fm.advance(now=NOW)
        fm.maintain(-timedelta(seconds=1))
        with pytest.raises(FloodmarkError, match="are not kept any more") as raised:
            _backfill(fm, "h")
        assert raised.value.code == "E0415"
        # Rows that are late in an epoch that is kept may be of windows after that.
        assert not _backfill(fm, "h", "2013-01-01T05:00", end=14).rows


def test_rows_that_came_late_for_a_table_correct_what_it_closed(site: Site) -> None:
    site.define(
        "CREATE TABLE w (ts TIMESTAMP, v INT, WATERMARK FOR ts AS ts) APPEND ONLY;",
        "CREATE MATERIALIZED VIEW h AS SELECT window_start, sum(v) AS sv "
        "FROM TUMBLE(w, ts, INTERVAL '1 hour') GROUP BY window_start EMIT ON WINDOW CLOSE;",
    )
    with site.connect() as fm:
        for hour, v in ((0, 1), (5, 2), (1, 3)):
            fm.execute(f"INSERT INTO w VALUES (TIMESTAMP '2013-01-01 0{hour}:10:00', {v})")
        assert fm.execute("SELECT count(*) FROM w__late").rows == ((1,),)
        assert _backfill(fm, "h").rows == {"+I": 1}
        assert _rows(fm, "SELECT kind, sv FROM h__corrections") == [("+I", 3)]
        assert not _backfill(fm, "h").rows
