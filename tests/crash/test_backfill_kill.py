"""`kill -9` in a backfill, again and again: the next run goes on where it was, nothing is lost."""

from __future__ import annotations

import pytest

from floodmark.epochs.backfill.choice import VARIABLE
from floodmark.spark.session import Sessions
from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    NOW,
    READINGS,
    Site,
    put,
    readings,
    rows_at_rest,
)

pytestmark = pytest.mark.spark
SOME = ("view_committed", "backfill_step_done", "backfill_ready")
OTHERS = (
    "backfill_step_logged", "files_written", "state_committed:2", "first_table_committed:3",
    "before_seal", "after_seal",
)  # fmt: skip


@pytest.mark.parametrize(
    "points", [SOME, pytest.param(OTHERS, marks=pytest.mark.long)], ids=["some", "others"]
)
def test_a_backfill_survives_kills(
    points: tuple[str, ...],
    tmp_path_factory: pytest.TempPathFactory,
    sessions: Sessions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = Site(tmp_path_factory.mktemp("backfilled"), sessions)
    site.define(READINGS, NAMES)
    put(site.landing, "0", readings(0, 20))
    for name in ("warehouse", "undisturbed"):
        with site.connect(name) as fm:
            fm.execute("INSERT INTO d VALUES ('a', 'Alpha'), ('z', 'Zeta')")
            fm.advance(now=NOW)
    site.define(READINGS, NAMES, JOINED, GROUPED)
    with monkeypatch.context() as patched:
        patched.setenv(VARIABLE, "0")
        for number, point in enumerate(points, 1):
            site.kill_at(point)
            put(site.landing, str(number), readings(20 * number, 20))
        ended = site.run()
        assert ended.returncode == 0, ended.stdout + ended.stderr
    with site.connect("undisturbed") as fm:
        fm.advance(now=NOW)
    with site.connect() as fm:
        head = fm.warehouse.log.head()
        assert head.open is None and not fm.has_new()
        assert {r.position for r in fm.status().values()} == {head.sealed}
    for view in ("j", "st", "s", "d"):
        expected = rows_at_rest(site.root / "undisturbed", f"public/{view}")
        assert rows_at_rest(site.root / "warehouse", f"public/{view}") == expected, view
    dead = "_dead_letter/public/j"
    # What it cannot compute is put aside once, too.
    assert len(rows_at_rest(site.root / "warehouse", dead)) == len(
        rows_at_rest(site.root / "undisturbed", dead)
    )
