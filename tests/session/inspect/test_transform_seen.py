"""What people see of a source that transforms its rows: status, report, checks, metadata."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from floodmark.api import Floodmark
from floodmark.cli.app import app
from floodmark.errors import NotSupported
from floodmark.report.page import page
from floodmark.session.audit.checks import run_checks
from floodmark.session.inspect.reporting import Intake, intakes, numbers, reports
from floodmark.session.inspect.watch import find_watchable
from tests.warehouses import Site, differing, replay_all

pytestmark = pytest.mark.spark

START = datetime(2013, 2, 1, tzinfo=UTC)
DEFINED = """
CREATE SOURCE s (id INT, ts TIMESTAMPTZ, n INT)
WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON
TRANSFORM USING (
    SELECT id, 12 / n AS part FROM s
    WHERE id > 0 AND ts <= now() AND now() < ts + INTERVAL '10 minutes'
);
CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(part) AS parts FROM s;
"""


def _at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def _put(folder: Path, name: str, *rows: tuple[int, float, int]) -> None:
    folder.mkdir(exist_ok=True)
    texts = (json.dumps({"id": i, "ts": _at(m).isoformat(), "n": n}) for i, m, n in rows)
    (folder / f"{name}.json").write_text("\n".join(texts))


def _ids(fm: Floodmark) -> list[int]:
    return [row[0] for row in fm.execute("SELECT id FROM s ORDER BY id").rows]


def _invoked(fm: Floodmark, *arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--warehouse", str(fm.root)])
    assert result.exit_code == 0, result.output
    return result.output


def test_what_is_stored_and_when_it_is_seen_is_told(site: Site) -> None:
    site.define(DEFINED)
    # Seen at once, later, never (over), not asked for, refused.
    _put(site.landing, "1", (1, 0, 1), (2, 5, 2), (3, -20, 3), (-4, 0, 4), (5, 0, 0))
    with site.connect() as fm:
        fm.clock.set(START)  # type: ignore[attr-defined]
        fm.advance()
        record = fm.status()["s"]
        assert (record.rows_in, record.rows_written, record.dead_rows) == (5, 2, 1)
        assert record.due == _at(5) and _ids(fm) == [1]
        assert not fm.has_new() and not fm.has_new(now=_at(4.9)) and fm.has_new(now=_at(5))

        (report, *_) = reports(fm.warehouse, {})
        told = numbers(report, fm.warehouse)
        assert (told["rows_in"], told["rows_stored"], told["rows_timed"]) == (5, 2, 0)
        assert told["share_stored"] == 0.4

        assert [epoch.now for epoch in fm.advance(now=_at(5))] == [_at(5)]
        assert _ids(fm) == [1, 2]
        fm.clock.set(_at(12))  # type: ignore[attr-defined]
        assert fm.has_new()
        _put(site.landing, "2", (6, 11, 6))
        fm.advance()
        assert _ids(fm) == [2, 6]
        record = fm.status()["s"]
        assert (record.rows_in, record.rows_written, record.timed_rows) == (1, 1, 1)
        assert fm.execute("SELECT n, parts FROM v").rows == ((2, 8),)
        assert intakes(fm.warehouse) == {"s": Intake(6, 3)}

        _check_what_is_shown(fm)
        for read in (
            lambda: fm.execute("SELECT * FROM s__changes"),
            lambda: find_watchable("s", fm.warehouse),
        ):
            with pytest.raises(NotSupported, match="come and go") as refused:
                read()
            assert refused.value.code == "E0376"
        changes = fm.execute("SELECT epoch, kind, n FROM v__changes ORDER BY epoch, kind DESC").rows
        assert [kind for _, kind, _ in changes if kind != "-U"] == ["+I", "+U", "+U", "+U"]

        outcomes = run_checks(fm.warehouse, reports(fm.warehouse, {}), {})
        failed: list[Any] = [o for found in outcomes.values() for o in found if not o.is_passed]
        assert failed == []
        assert differing(replay_all(fm)) == []


def _check_what_is_shown(fm: Floodmark) -> None:
    text = _invoked(fm, "status")
    assert "3 of 6 (50 %)" in text and "2013-02-01 00:15:00+00" in text
    data = json.loads(_invoked(fm, "status", "--json"))
    (found,) = (o for o in data["objects"] if o["object"] == "s")
    assert (found["received"], found["stored"]) == (6, 3)
    assert found["last"]["due"] == _at(15).isoformat() and found["last"]["timed_rows"] == 1
    html = page(fm, samples=False)
    assert "3 of 6 (50 %)" in html and "2013-02-01 00:15:00 UTC" in html


def test_a_run_of_the_shell_takes_its_time(site: Site) -> None:
    site.define(DEFINED)
    _put(site.landing, "1", (1, 0, 1), (2, 5, 2))
    for now, expected in ((_at(0), [1]), (_at(5), [1, 2]), (_at(10), [2])):
        done = site.run("warehouse", "--now", now.isoformat())
        assert done.returncode == 0, done.stdout + done.stderr
        with site.connect() as fm:
            assert _ids(fm) == expected
    _put(site.landing, "2", (3, 10, 3))
    back = site.run("warehouse", "--now", _at(0).isoformat())
    assert "the clock went back from 2013-02-01 00:10:00+00:00" in back.stdout, back.stderr


BOUNDED = """
CREATE SOURCE s (id INT, ts TIMESTAMPTZ, until TIMESTAMPTZ, n INT, days INT)
WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON
TRANSFORM USING (
    SELECT id FROM s
    WHERE 8 / n > 1 AND ts <= now() AND now() < until
    AND now() < ts + coalesce(days, 1) * INTERVAL '1 day'
);
CREATE MATERIALIZED VIEW v AS SELECT id FROM s;
"""


def test_bounds_that_are_null_empty_or_out_of_range(site: Site) -> None:
    site.define(BOUNDED)
    site.landing.mkdir()
    begin, end = _at(0).isoformat(), _at(60).isoformat()
    rows = [
        {"id": 1, "ts": begin, "until": end, "n": 1},
        {"id": 2, "ts": begin, "until": None, "n": 1},
        {"id": 3, "ts": None, "until": end, "n": 1},
        {"id": 4, "ts": end, "until": begin, "n": 1},
        {"id": 5, "ts": begin, "until": begin, "n": 1},
        {"id": 6, "ts": begin, "until": end, "n": 1, "days": 2**31 - 1},
        {"id": 7, "ts": begin, "until": end, "n": 8, "days": 2**31 - 1},
        {"id": 8, "ts": begin, "until": end, "n": 0},
        {"id": 9, "ts": begin, "until": end, "n": None},
    ]
    (site.landing / "1.json").write_text("\n".join(map(json.dumps, rows)))
    with site.connect() as fm:
        fm.clock.set(START)  # type: ignore[attr-defined]
        fm.advance()
        record = fm.status()["s"]
        assert (record.rows_in, record.rows_written) == (9, 1)
        assert (record.dead_rows, record.dropped_rows) == (2, 6)
        assert _ids(fm) == [1]
        letters = fm.execute('SELECT reason, expression, "row" FROM s__dead_letter').rows
        found = {json.loads(row)["id"]: (reason, text) for reason, text, row in letters}
        assert {i: reason for i, (reason, _) in found.items()} == {6: "E0624", 8: "E0621"}
        assert "days" in found[6][1]
        fm.advance(now=_at(60))
        assert _ids(fm) == [] == [row[0] for row in fm.execute("SELECT id FROM v").rows]
