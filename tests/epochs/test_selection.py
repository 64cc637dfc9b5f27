"""Only a selection advances: the epoch stays open, says why, and ends like an undisturbed one."""

from __future__ import annotations

import pytest

from floodmark.errors import UserError
from floodmark.spark.session import Sessions
from tests.warehouses import (
    GROUPED,
    NAMES,
    NOW,
    PROJECTED,
    READINGS,
    SUNK,
    Site,
    digests,
    put,
    readings,
    visible,
)

pytestmark = pytest.mark.spark


def _begun(site: Site, *definitions: str) -> Site:
    """Make two equal warehouses with one epoch; one of them has the next epoch, too."""
    site.define(READINGS, *definitions)
    put(site.landing, "1", readings(0, 20))
    with site.connect("begun") as fm:
        fm.advance(now=NOW)
    site.copy("begun", "undisturbed")
    put(site.landing, "2", readings(20, 20))
    with site.connect("undisturbed") as fm:
        fm.advance(now=NOW)
    return site


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Site:
    """Return what the tests that land nothing have in common."""
    site = Site(tmp_path_factory.mktemp("selection"), sessions)
    return _begun(site, NAMES, PROJECTED, GROUPED, SUNK)


def test_a_selection_leaves_the_epoch_open_and_a_full_run_seals_it(shared: Site) -> None:
    root = shared.copy("begun", "selected")
    with shared.connect("selected") as fm:
        sealed = fm.warehouse.log.head().sealed
        (early,) = fm.advance(now=NOW, select=["p"])
        assert not early.sealed and early.held_back == {"p": ("s",)}
        assert fm.warehouse.log.head().open is None

        (first,) = fm.advance(now=NOW, select=["s", "st"])
        assert (first.epoch, first.sealed) == (sealed + 1, False)
        assert sorted(r.object for r in first.changes) == ["s", "st"]
        assert set(first.waiting_for) == {"p", "t"} and not first.held_back
        assert fm.warehouse.log.head().sealed == sealed
        before = digests(root)

        (again,) = fm.advance(now=NOW, select=["s", "st"])
        assert again.waiting_for == first.waiting_for and not again.changes
        assert "p, t" in again.notices[0] or "t, p" in again.notices[0]
        assert digests(root) == before

        (full,) = fm.advance(now=NOW)
        assert full.sealed and full.epoch == sealed + 1
        assert {r.object for r in full.changes} == {"s", "st", "p", "t"}
    assert digests(root) == digests(shared.root / "undisturbed")


def test_selections_that_cover_the_epoch_seal_it(shared: Site) -> None:
    root = shared.copy("begun", "covered")
    with shared.connect("covered") as fm:
        fm.advance(now=NOW, select=["s"])
        (views,) = fm.advance(now=NOW, select=["p", "st"])
        assert views.waiting_for == ("t",)
        # A sink advances with its table.
        (last,) = fm.advance(now=NOW, select=["kk"])
        assert last.sealed and not fm.has_new()
        with pytest.raises(UserError):
            fm.advance(select=["nothing_of_that_name"])
    assert digests(root) == digests(shared.root / "undisturbed")


def test_a_killed_selection_is_completed_from_the_command_line(shared: Site) -> None:
    root = shared.copy("begun", "killed")
    shared.kill_at("first_object_done", "killed", "--select", "s,p")
    selected = shared.run("killed", "--select", "s,p")
    assert selected.returncode == 0, selected.stderr
    assert "it waits for" in selected.stdout and "sealed  " not in selected.stdout
    with shared.connect("killed") as fm:
        assert fm.warehouse.log.head().open is not None
        (done,) = fm.advance(now=NOW)
        assert done.sealed
    assert digests(root) == digests(shared.root / "undisturbed")


def test_what_has_epochs_to_catch_up_waits_for_a_full_run(site: Site) -> None:
    _begun(site, GROUPED, PROJECTED)
    site.copy("begun", "warehouse")
    with site.connect() as fm:
        log = fm.warehouse.log
        log.record("suspend", NOW, "a test", object="st", code="E0420")
        fm.advance(now=NOW)
        log.record("resume", NOW, object="st")
        put(site.landing, "3", readings(40, 10))
        (told,) = fm.advance(now=NOW, select=["s", "st"])
        assert told.held_back == {"st": ()} and "catch up" in told.notices[1]
        assert [r.object for r in told.changes] == ["s"]
        assert fm.advance(now=NOW)[0].sealed
        assert len({r.position for r in fm.status().values()}) == 1
    with site.connect("undisturbed") as fm:
        fm.advance(now=NOW)
    for name in ("st", "p"):
        assert visible(site.root / "warehouse", name) == visible(site.root / "undisturbed", name)
