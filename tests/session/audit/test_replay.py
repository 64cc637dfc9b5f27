"""The replay audit: the same again, what differs and why, what cannot be replayed."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from floodmark.errors import DataError
from floodmark.session.audit import ObjectReplay, ReplayOutcome
from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    PROJECTED,
    READINGS,
    RECOMPUTED,
    REGROUPED,
    SUNK,
    WINDOWED,
    Site,
    differing,
    digests,
    double,
    put,
    readings,
    replay_all,
)

pytestmark = pytest.mark.spark

VOLATILE = """
CREATE MATERIALIZED VIEW r AS SELECT k, n, random() AS r, gen_random_uuid() AS u FROM st;
CREATE MATERIALIZED VIEW rr AS SELECT sum(r) AS r, count(*) AS n, max(at) AS at FROM
  (SELECT id, random() AS r, now() AS at FROM s) q;
"""
NOISY = """
CREATE FUNCTION noisy(x INT) RETURNS DOUBLE PRECISION LANGUAGE python VOLATILE AS $$
def noisy(x):
    import random
    return x + random.random()
$$;
CREATE MATERIALIZED VIEW y AS SELECT id, noisy(v) AS y FROM s;
CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(y) AS y FROM y;
"""


def _outcomes(found: Sequence[ObjectReplay]) -> dict[str, str]:
    return {r.object: r.result.name for r in found}


@pytest.mark.long
def test_every_epoch_of_every_kind_of_object_is_the_same_again(site: Site) -> None:
    texts = (NAMES, JOINED, GROUPED, REGROUPED, RECOMPUTED, PROJECTED, WINDOWED, SUNK, VOLATILE)
    site.define(READINGS, *texts)
    put(site.landing, "000", readings(0, 20))
    with site.connect() as fm:
        fm.advance()
        fm.execute("INSERT INTO d VALUES ('a', 'first'), ('b', 'second')")
        fm.execute("UPDATE d SET name = 'other' WHERE k = 'a'")
        put(site.landing, "more", readings(20, 20))
        fm.advance()
        found = replay_all(fm)
        assert differing(found) == []
        assert {r.object for r in found} == {o.key for o in fm.deployed.pipeline.writing_objects}
        assert {r.object for r in fm.replay(sample=2, objects=["st"])} == {"st"}


def test_an_epoch_is_the_same_again_and_nothing_is_changed(site: Site) -> None:
    site.define(READINGS, GROUPED, VOLATILE.split(";")[0] + ";")
    put(site.landing, "000", readings(0, 20))
    with site.connect() as fm:
        fm.advance()
        root = site.root / "warehouse"
        before = digests(root)
        found = replay_all(fm)
        assert differing(found) == [] and {r.object for r in found} == {"s", "st", "r"}
        assert sum(r.rows for r in found) == 20 + 5 + 5
        assert digests(root) == before
        assert list((root / "_floodmark" / "replay").glob("*")) == []


@pytest.mark.long
def test_what_a_volatile_function_gave_differs_and_what_reads_it_does_not(site: Site) -> None:
    site.define(READINGS, NOISY)
    put(site.landing, "000", readings(0, 9))
    with site.connect() as fm:
        fm.advance()
        found = {r.object: r for r in fm.replay()}
    assert _outcomes([*found.values()]) == {"s": "SAME", "y": "DIFFERS", "total": "SAME"}
    assert found["y"].cause.startswith("noisy() is not IMMUTABLE")
    assert len(found["y"].differences) == 5


def test_rows_that_differ_are_shown(site: Site) -> None:
    site.define(READINGS, PROJECTED)
    put(site.landing, "000", readings(0, 9))
    with site.connect() as fm:
        fm.advance()
        double(site.root / "warehouse" / "_rows" / "public" / "p")
        (doctored,) = fm.replay(objects=["p"])
    assert doctored.result is ReplayOutcome.DIFFERS and "stored files" in doctored.cause
    assert {(d.side, d.count) for d in doctored.differences} == {("stored", 1)}


def test_a_source_that_cannot_be_read_again_is_told(site: Site) -> None:
    site.define(READINGS, PROJECTED)
    put(site.landing, "000", readings(0, 9))
    file = site.landing / "000.parquet"
    with site.connect() as fm:
        fm.advance()

        def source() -> ObjectReplay:
            (found,) = fm.replay(objects=["s"])
            assert found.result is ReplayOutcome.IMPOSSIBLE
            return found

        status = file.stat()
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert "its content is another" in source().cause
        put(site.landing, "000", readings(0, 10))
        assert "bytes instead of" in source().cause
        file.unlink()
        assert source().cause.endswith("000.parquet is gone")
        # What reads the source reads its rows, which are stored.
        assert _outcomes(fm.replay()) == {"s": "IMPOSSIBLE", "p": "SAME"}


def test_what_is_not_kept_or_began_anew_cannot_be_replayed(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, a INT)")
        fm.execute("INSERT INTO t VALUES (1, 1)")
        fm.execute("CREATE MATERIALIZED VIEW v AS SELECT k FROM t")
        fm.execute("INSERT INTO t VALUES (2, 2)")
        fm.execute("DROP MATERIALIZED VIEW v")
        assert [r.cause for r in fm.replay(4, objects=["t"])] == [""]
        fm.execute("CREATE MATERIALIZED VIEW v AS SELECT k, a FROM t")
        (v,) = fm.replay(4, objects=["v"])
        assert v.result is ReplayOutcome.IMPOSSIBLE and v.cause == "v began anew in epoch 6"
        assert _outcomes(fm.replay(6)) == {"v": "SAME"}
        # The first epoch created the table: there is nothing in it to compare.
        assert {r.epoch for r in fm.replay(sample=9, objects=["t"])} == {2, 4}
        fm.warehouse.retention_record.keep_from(3, fm.clock.now())
        with pytest.raises(DataError, match="E0414") as refused:
            fm.replay(3)
        assert "the oldest epoch that can be replayed is 4" in (refused.value.hint or "")
        assert {r.epoch for r in fm.replay(sample=9)} == {4, 6}
        with pytest.raises(DataError, match="E0410"):
            fm.replay(9)


def test_the_state_of_a_sink_that_begins_anew_is_gone(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute_script("""
            CREATE TABLE o (id INT PRIMARY KEY, k INT, v INT) APPEND ONLY;
            CREATE TABLE r (id INT PRIMARY KEY, k INT);
            CREATE TABLE t (k INT PRIMARY KEY, c BIGINT);
            CREATE TABLE u (k INT PRIMARY KEY, c BIGINT);
            CREATE TABLE w (k INT PRIMARY KEY, c BIGINT);
            CREATE SINK s INTO t AS SELECT k, count(*) FROM o GROUP BY k;
            CREATE SINK plain INTO u AS SELECT id, v FROM o;
            CREATE SINK back INTO w AS SELECT k, count(*) FROM r GROUP BY k;
            INSERT INTO o VALUES (1, 1, 1), (2, 1, 1), (3, 2, 1);
            INSERT INTO r VALUES (1, 1), (2, 1), (3, 2);
            INSERT INTO o VALUES (4, 1, 1);
            DELETE FROM r WHERE id = 2;
        """)
        last = fm.warehouse.log.head().sealed
        fm.execute("ALTER SINK s AS SELECT k, count(*) * 10 FROM o GROUP BY k")
        fm.execute("ALTER SINK plain AS SELECT id, v + 1 FROM o")
        fm.execute("ALTER SINK back RENAME TO other")
        fm.execute("ALTER SINK other AS SELECT k, count(*) * 10 FROM r GROUP BY k")
        fm.execute("INSERT INTO o VALUES (5, 1, 1)")
        fm.execute("DELETE FROM r WHERE id = 1")
        found = [r for epoch in range(last - 3, last + 7) for r in fm.replay(epoch)]
        assert not [r for r in found if r.result is ReplayOutcome.DIFFERS], found
        said = {(r.epoch, r.object): r.cause for r in found if r.cause}
        assert said == {
            (last - 3, "t"): f"sink:s began anew in epoch {last + 1}",
            (last - 1, "t"): f"sink:s began anew in epoch {last + 1}",
            (last - 2, "w"): f"sink:back began anew in epoch {last + 4}",
            (last, "w"): f"sink:back began anew in epoch {last + 4}",
        }
        assert (last - 1, "u") in {(r.epoch, r.object) for r in found}
