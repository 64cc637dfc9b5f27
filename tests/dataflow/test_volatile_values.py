"""Volatile values: drawn once per change, stored, and taken back as they were given out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from floodmark.api import Floodmark
from tests.warehouses import NOW, READINGS, Site, put, readings

pytestmark = pytest.mark.spark
Rows = list[tuple[Any, ...]]


def _rows(fm: Floodmark, sql: str) -> Rows:
    return sorted((tuple(row) for row in fm.execute(sql).rows), key=repr)


def _history(fm: Floodmark, name: str) -> list[tuple[int, str, tuple[Any, ...]]]:
    """Return the changelog, old rows first within an epoch."""
    found = [(row[0], row[1], tuple(row[2:])) for row in fm.changes(name).collect()]
    return sorted(found, key=lambda c: (c[0], c[1] not in ("-U", "-D"), repr(c)))


def _replayed(fm: Floodmark, name: str) -> Rows:
    """Return what the changelog leads to; a row that is not there is never taken back."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for _, kind, row in _history(fm, name):
        rows[row] += 1 if kind in ("+I", "+U") else -1
        assert rows[row] >= 0, (kind, row)
    return sorted(rows.elements(), key=repr)


def _check(fm: Floodmark, *names: str) -> None:
    for name in names:
        assert _replayed(fm, name) == _rows(fm, f"SELECT * FROM {name}"), name


def test_the_three_steps_of_an_update(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (pk INT PRIMARY KEY, v INT)")
        fm.execute("CREATE MATERIALIZED VIEW mv AS SELECT random() AS rd, v * 2 AS vv, pk FROM t")
        fm.execute("INSERT INTO t VALUES (1, 10)")
        fm.execute("UPDATE t SET v = 20 WHERE pk = 1")
        fm.execute("DELETE FROM t WHERE pk = 1")
        steps = [(kind, row) for _, kind, row in _history(fm, "mv")]
        first, second = steps[0][1][0], steps[2][1][0]
        assert steps == [
            ("+I", (first, 20, 1)),
            ("-U", (first, 20, 1)),
            ("+U", (second, 40, 1)),
            ("-D", (second, 40, 1)),
        ]
        assert 0 <= first < 1 and 0 <= second < 1 and first != second


VIEWS = {
    "filtered": "SELECT * FROM (SELECT random() AS rd, v, pk FROM t) q WHERE rd < 0.5",
    "sampled": "SELECT pk, v FROM t WHERE random() < 0.5",
    "summed": "SELECT v, count(*) AS n, max(rd) AS most FROM "
    "(SELECT random() AS rd, v, pk FROM t) q GROUP BY v",
    "named": "SELECT a.pk, a.id, b.v FROM (SELECT pk, gen_random_uuid() AS id FROM t) a "
    "JOIN t b ON a.pk = b.pk",
    "grouped": "SELECT half, count(*) AS n FROM "
    "(SELECT CASE WHEN random() < 0.5 THEN 'a' ELSE 'b' END AS half FROM t) q GROUP BY half",
}


def test_what_was_drawn_is_taken_back(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (pk INT PRIMARY KEY, v INT)")
        fm.execute(f"INSERT INTO t VALUES {', '.join(f'({i}, {i % 3})' for i in range(20))}")
        for name, query in VIEWS.items():
            fm.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        fm.execute("UPDATE t SET v = v + 1 WHERE pk % 2 = 0")
        fm.execute("DELETE FROM t WHERE pk % 5 = 0")
        fm.execute("INSERT INTO t VALUES (0, 1), (40, 1)")
        assert not fm.warehouse.log.suspensions()
        _check(fm, *VIEWS)
        assert all(rd < 0.5 for rd, _, _ in _rows(fm, "SELECT * FROM filtered"))
        assert [row[:2] for row in _rows(fm, "SELECT v, n FROM summed")] == _rows(
            fm, "SELECT v, count(*) AS n FROM t GROUP BY v"
        )
        assert sum(n for _, n in _rows(fm, "SELECT * FROM grouped")) == 18
        ids = [row[1] for row in _rows(fm, "SELECT * FROM named")]
        assert len(set(ids)) == len(ids) == 18
        fm.execute("DELETE FROM t")
        for name in VIEWS:
            assert _rows(fm, f"SELECT * FROM {name}") == [], name


def test_a_change_of_what_is_dropped_below_a_window_draws_nothing_anew(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (pk INT PRIMARY KEY, v INT, ts TIMESTAMP)")
        fm.execute("INSERT INTO t VALUES (1, 7, '2026-01-01 10:30'), (2, 8, '2026-01-01 10:40')")
        fm.execute(
            "CREATE MATERIALIZED VIEW last AS WITH q AS "
            "(SELECT v, max(ts) AS ts FROM t GROUP BY v HAVING count(*) > 0) "
            "SELECT random() AS rd, v, window_start FROM TUMBLE(q, ts, INTERVAL '1 hour')"
        )
        before = _rows(fm, "SELECT * FROM last")
        fm.execute("INSERT INTO t VALUES (3, 7, '2026-01-01 10:20')")
        assert len(before) == 2 and _rows(fm, "SELECT * FROM last") == before
        assert [kind for _, kind, _ in _history(fm, "last")] == ["+I", "+I"]


def test_rows_that_are_only_added_draw_the_same_at_other_boundaries(site: Site) -> None:
    drawn = "CREATE MATERIALIZED VIEW p AS SELECT id, random() AS r FROM s WHERE random() < 0.8;"
    site.define(READINGS, drawn)
    found = []
    for name, parts in (("one", [60]), ("three", [20, 20, 20])):
        seed = site.root / name / "_floodmark" / "seed"
        seed.parent.mkdir(parents=True)
        seed.write_text("5eed")
        for old in site.landing.glob("*"):
            old.unlink()
        with site.connect(name) as fm:
            taken = 0
            for part in parts:
                put(site.landing, f"{taken:03d}", readings(taken, part))
                taken += part
                fm.advance(now=NOW)
            found.append(_rows(fm, "SELECT id, r FROM p"))
    one, three = found
    assert one == three and 0 < len(one) < 60


def test_the_epochs_time_over_rows_that_are_only_added(site: Site) -> None:
    site.define(READINGS, "CREATE MATERIALIZED VIEW p AS SELECT id, now() AS at FROM s;")
    put(site.landing, "0", readings(0, 5))
    with site.connect() as fm:
        fm.advance(now=NOW)
        (at,) = {at for _, at in _rows(fm, "SELECT id, at FROM p")}
        assert at == fm.warehouse.log.open_record(fm.warehouse.log.head().sealed).now


def test_a_function_that_fails_never_changes_a_retraction(site: Site, tmp_path: Path) -> None:
    body = "$$\ndef noisy(x):\n    import random\n    if x == 7:\n"
    body += "        raise ValueError('seven')\n    return x + random.random()\n$$"
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (pk INT PRIMARY KEY, v INT)")
        fm.execute(
            "CREATE FUNCTION noisy(x int) RETURNS double precision LANGUAGE python VOLATILE "
            f"AS {body}"
        )
        fm.execute("CREATE MATERIALIZED VIEW own AS SELECT pk, noisy(v) AS y FROM t")
        fm.execute(
            "CREATE MATERIALIZED VIEW most AS SELECT count(*) AS n, max(y) AS y FROM "
            "(SELECT pk, noisy(v) AS y FROM t) q"
        )
        fm.execute("INSERT INTO t VALUES (1, 1), (2, 7), (3, 3)")
        assert [row[0] for row in _rows(fm, "SELECT pk FROM own")] == [1, 3]
        assert _rows(fm, "SELECT n FROM most") == [(2,)]
        fm.execute("UPDATE t SET v = 7 WHERE pk = 1")
        fm.execute("UPDATE t SET v = 5 WHERE pk = 2")
        fm.execute("DELETE FROM t WHERE pk = 3")
        assert not fm.warehouse.log.suspensions()
        _check(fm, "own", "most")
        assert [row[0] for row in _rows(fm, "SELECT pk FROM own")] == [2]
        assert _rows(fm, "SELECT n FROM most") == [(1,)]
        for name in ("own", "most"):
            assert _rows(fm, f"SELECT reason FROM {name}__dead_letter") == [("E0626",)], name
