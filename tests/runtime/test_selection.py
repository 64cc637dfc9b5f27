"""Only a selection advances: the epoch stays open, says why, and ends like an undisturbed one."""

from __future__ import annotations

import signal

import pytest
from warehouses import GROUPED, NAMES, NOW, PROJECTED, READINGS, SUNK, Site, digests, put, readings

from floodmark.errors import UserError

pytestmark = pytest.mark.spark


def _begun(site: Site) -> None:
    """Make two equal warehouses with one epoch, and put the input of the next one there."""
    site.define(READINGS, NAMES, PROJECTED, GROUPED, SUNK)
    put(site.landing, "1", readings(0, 20))
    with site.connect() as fm:
        fm.advance(now=NOW)
    site.copy("warehouse", "undisturbed")
    put(site.landing, "2", readings(20, 20))
    with site.connect("undisturbed") as fm:
        fm.advance(now=NOW)


def test_a_selection_leaves_the_epoch_open_and_a_full_run_seals_it(site: Site) -> None:
    _begun(site)
    with site.connect() as fm:
        sealed = fm.scheduler.log.head().sealed
        (early,) = fm.advance(now=NOW, select=["p"])
        assert not early.sealed and early.held_back == {"p": ("s",)}
        assert fm.scheduler.log.head().open is None

        (first,) = fm.advance(now=NOW, select=["s", "st"])
        assert (first.epoch, first.sealed) == (sealed + 1, False)
        assert sorted(r.object for r in first.touched) == ["s", "st"]
        assert set(first.waiting_for) == {"p", "t"} and not first.held_back
        assert fm.scheduler.log.head().sealed == sealed
        before = digests(site.root / "warehouse")

        (again,) = fm.advance(now=NOW, select=["s", "st"])
        assert again.waiting_for == first.waiting_for and not again.touched
        assert "p, t" in again.notices[0] or "t, p" in again.notices[0]
        assert digests(site.root / "warehouse") == before

        (full,) = fm.advance(now=NOW)
        assert full.sealed and full.epoch == sealed + 1
        assert {r.object for r in full.touched} == {"s", "st", "p", "t"}
    assert digests(site.root / "warehouse") == digests(site.root / "undisturbed")


def test_selections_that_cover_the_epoch_seal_it(site: Site) -> None:
    _begun(site)
    with site.connect() as fm:
        fm.advance(now=NOW, select=["s"])
        (views,) = fm.advance(now=NOW, select=["p", "st"])
        assert views.waiting_for == ("t",)
        # A sink advances with its table.
        (last,) = fm.advance(now=NOW, select=["kk"])
        assert last.sealed and not fm.has_new()
        with pytest.raises(UserError):
            fm.advance(select=["nothing_of_that_name"])
    assert digests(site.root / "warehouse") == digests(site.root / "undisturbed")


def test_a_killed_selection_is_completed_from_the_command_line(site: Site) -> None:
    _begun(site)
    ended = site.run("warehouse", "--select", "s,p", failpoint="first_object_done")
    assert ended.returncode == -signal.SIGKILL, ended.stdout + ended.stderr
    selected = site.run("warehouse", "--select", "s,p")
    assert selected.returncode == 0, selected.stderr
    assert "it waits for" in selected.stdout and "sealed  " not in selected.stdout
    with site.connect() as fm:
        assert fm.scheduler.log.head().open is not None
        (done,) = fm.advance(now=NOW)
        assert done.sealed
    assert digests(site.root / "warehouse") == digests(site.root / "undisturbed")


def test_what_has_epochs_to_catch_up_waits_for_a_full_run(site: Site) -> None:
    _begun(site)
    with site.connect() as fm:
        log = fm.scheduler.log
        log.record("suspend", NOW, "a test", object="st", code="E0420")
        fm.advance(now=NOW)
        log.record("resume", NOW, object="st")
        put(site.landing, "3", readings(40, 10))
        (told,) = fm.advance(now=NOW, select=["s", "st"])
        assert told.held_back == {"st": ()} and "catch up" in told.notices[1]
        assert [r.object for r in told.touched] == ["s"]
        assert fm.advance(now=NOW)[0].sealed
        assert len({r.position for r in fm.status().values()}) == 1
    with site.connect("undisturbed") as fm:
        fm.advance(now=NOW)
    for name in ("public/st", "public/p", "public/t"):
        assert digests(site.root / "warehouse")[name] == digests(site.root / "undisturbed")[name]
