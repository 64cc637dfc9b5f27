"""Sinks to the outside in a pipeline: created, fed, out of reach, rebuilt, dropped."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from floodmark.api import connect
from floodmark.errors import FloodmarkError, OutOfReach
from floodmark.session.audit import ReplayOutcome
from floodmark.spark.session import Sessions
from tests.sinks_outside import (
    COUNTED,
    SINKS,
    changes_of,
    check,
    define,
    epoch,
    of_epochs,
    of_table,
)
from tests.warehouses import NOW, READINGS, Site, put, readings

pytestmark = pytest.mark.spark


def test_sinks_follow_what_they_read(site: Site) -> None:
    out = define(site, READINGS, COUNTED)
    put(site.landing, "0", readings(0, 10))
    with site.connect() as fm:
        fm.advance(now=NOW)
        for statement in SINKS.replace("{out}", str(out)).split(";")[:-1]:
            fm.execute(statement)
        assert [r[0] for r in fm.execute("SHOW SINKS").rows] == [
            "every",
            "rows_of",
            "keyed",
            "sizes",
        ]
        for number in (1, 2, 3):
            epoch(site, fm, number)
        head = fm.warehouse.log.head().sealed
        root = site.root / "warehouse"
        first, *later = of_epochs(out / "every").items()
        assert {row[0] for row in first[1]} == {"+I"} and len(later) == 3
        assert dict(later) == {
            e: rows for e, rows in changes_of(root, "st").items() if e > first[0]
        }
        assert of_table(out / "keyed") == of_table(root / "public" / "st")
        status = fm.status()
        assert status["sink:every"].position == head and status["sink:every"].rows_out > 0
        found = [r for e in range(head - 2, head + 1) for r in fm.replay(e)]
        assert {r.result for r in found if r.object.startswith("sink:")} == {ReplayOutcome.SAME}
        before = of_epochs(out / "every")
        fm.execute("DROP SINK every")
        epoch(site, fm, 4)
        assert of_epochs(out / "every") == before


def test_a_sink_reads_what_it_copies_without_spark(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from floodmark.epochs.objects import external_sink

    out = define(site, READINGS, COUNTED, SINKS)
    with site.connect() as fm:
        epoch(site, fm, 0)
        asked: list[str] = []
        computed = external_sink._compute_changes

        def counted(advance, *rest):  # type: ignore[no-untyped-def]
            asked.append(advance.obj.name)
            return computed(advance, *rest)

        monkeypatch.setattr(external_sink, "_compute_changes", counted)
        epoch(site, fm, 1)
        assert sorted(asked) == ["rows_of", "sizes"]
    check(site, out)


def test_a_sink_out_of_reach_waits_and_catches_up(site: Site) -> None:
    out = define(site, READINGS, COUNTED, SINKS)
    with site.connect() as fm:
        epoch(site, fm, 0)
        for name in ("every", "keyed"):
            shutil.move(out / name, site.root / f"moved-{name}")
            (out / name).write_text("no folder")
        for number in (1, 2):
            epoch(site, fm, number)
        events = fm.warehouse.log.suspensions()
        assert {k: e.code for k, e in events.items()} == {
            "sink:every": "E0741", "sink:keyed": "E0741",
        }  # fmt: skip
        head = fm.warehouse.log.head().sealed
        assert fm.status()["st"].position == head and not fm.has_new()
        for name in ("every", "keyed"):
            (out / name).unlink()
            shutil.move(site.root / f"moved-{name}", out / name)
        assert fm.has_new()
        fm.advance(now=NOW)
        assert not fm.warehouse.log.suspensions() and not fm.has_new()
    check(site, out)


def test_a_sink_of_another_definition_begins_anew(site: Site) -> None:
    out = define(site, READINGS, COUNTED, SINKS)
    with site.connect() as fm:
        epoch(site, fm, 0)
        epoch(site, fm, 1)
        old = of_epochs(out / "every")
        define(site, READINGS, COUNTED.replace("max(v)", "min(v)"), SINKS)
        assert [c.action for c in fm.apply(site.pipelines).changes] == ["replace"]
        epoch(site, fm, 2)
        followed = of_epochs(out / "every")
        assert {row[0] for e, rows in followed.items() if e not in old for row in rows} > {"-U"}
        old = followed
        define(site, READINGS.replace("v INT,", "v INT, w INT AS (v + 1),"), COUNTED, SINKS)
        plan = fm.apply(site.pipelines)
        rebuilt = {c.key for c in plan.changes}
        assert rebuilt == {"s", "st", "sink:every", "sink:keyed", "sink:rows_of", "sink:sizes"}
        epoch(site, fm, 3)
    new = {e: rows for e, rows in of_epochs(out / "every").items() if e not in old}
    begins = json.loads((out / "every/_sink.json").read_text())["begins"]
    assert max(old) < begins <= min(new)
    assert all({row[0] for row in rows} == {"+I"} for rows in list(new.values())[:1])
    root = site.root / "warehouse"
    assert of_table(out / "keyed") == of_table(root / "public" / "st")


REFUSED = [
    ("connector = 'files', path = '{root}/x', type = 'retract'", "E0740"),
    ("connector = 'files', path = '{out}/every', type = 'retract'", "E0722"),
    ("connector = 'files', path = '{out}/every/below', type = 'retract'", "E0722"),
    ("connector = 'files', path = '{landing}', type = 'retract'", "E0722"),
    ("connector = 'files', path = '{file}/x', type = 'retract'", "E0741"),
    ("connector = 'delta', path = '{landing}2', type = 'retract'", "E0744"),
]


def test_places_that_do_not_do_are_refused_at_once(site: Site) -> None:
    out = define(site, READINGS, COUNTED, SINKS)
    (site.root / "landing2").mkdir()
    for name in ("file", "landing2/x"):
        (site.root / name).write_text("some text")
    with site.connect() as fm:
        epoch(site, fm, 0)
        head = fm.warehouse.log.head().sealed
        places = {"root": fm.root, "out": out, "landing": site.landing, "file": site.root / "file"}
        for options, code in REFUSED:
            format_ = "FORMAT PLAIN ENCODE JSON" if "files" in options else ""
            with pytest.raises(FloodmarkError) as refused:
                fm.execute(f"CREATE SINK x FROM st WITH ({options.format(**places)}) {format_}")
            assert refused.value.code == code, options
            assert refused.value.hint and refused.value.span is not None, options
            assert isinstance(refused.value, OutOfReach) == (code == "E0741")
        assert fm.warehouse.log.head().sealed == head


def test_a_delta_sink_does_not_get_other_columns(tmp_path: Path, sessions: Sessions) -> None:
    options = f"connector = 'delta', path = '{tmp_path / 'out'}', type = 'upsert'"
    sink = f"CREATE SINK d FROM w WITH ({options});"
    files = tmp_path / "p"
    files.mkdir()
    (files / "a.sql").write_text(f"CREATE TABLE w (id INT PRIMARY KEY, v INT); {sink}")
    with connect(tmp_path / "w", sessions=lambda: sessions) as fm:
        fm.apply(files)
        fm.execute("INSERT INTO w VALUES (1, 1)")
        (files / "a.sql").write_text(f"CREATE TABLE w (id INT PRIMARY KEY, v INT, n INT); {sink}")
        changes = {c.key: (c.action, c.reason) for c in fm.plan(files).changes}
        assert changes["sink:d"] == ("alter", "w has other columns: it goes on")
        sealed = fm.warehouse.log.head().sealed
        with pytest.raises(FloodmarkError, match="has other columns than the sink d") as raised:
            fm.apply(files)
        assert raised.value.code == "E0743" and fm.warehouse.log.head().sealed == sealed
        assert not fm.warehouse.log.suspensions()
        assert [*fm.execute("SELECT * FROM w").rows] == [(1, 1)]
