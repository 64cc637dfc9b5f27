"""What a volatile function gave is used by all, also by an epoch that goes on after a crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from floodmark import failpoints
from tests.warehouses import NAMES, NOW, READINGS, Site, contents, put, visible

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_alone")]

DRAW = """
CREATE FUNCTION draw(n BIGINT) RETURNS DOUBLE LANGUAGE python AS $$
import random
def draw(n):
    drawn = random.SystemRandom().random()
    return drawn if drawn > 0.4 else 1 / 0
$$;
CREATE FUNCTION draws(n INT) RETURNS TABLE (i INT, r DOUBLE) LANGUAGE python AS $$
import random
def draws(n):
    return [(i, random.SystemRandom().random()) for i in range(n)]
$$;
CREATE MATERIALIZED VIEW drawn AS SELECT id, draw(id) AS r FROM s;
CREATE MATERIALIZED VIEW joined AS
SELECT a.id, a.r, b.r AS again FROM (SELECT id, k, draw(id) AS r FROM s) AS a
JOIN (SELECT id, k, draw(id) AS r FROM s) AS b ON a.id = b.id AND a.k = b.k;
CREATE MATERIALIZED VIEW largest AS SELECT k, max(r) AS r, count(*) AS n
FROM s, draws(v) GROUP BY k;
"""
POINTS = (
    "first_table_committed:1", "first_table_committed:4", "view_committed:1",
    "dead_letter_committed:1",
)  # fmt: skip


class Crash(BaseException):
    """Stands for a power cut: nothing catches it."""


def crashing_at(point: str) -> Callable[[str], None]:
    wanted, _, count = point.partition(":")
    reached: Counter[str] = Counter()

    def reach(name: str) -> None:
        reached[name] += 1
        if name == wanted and reached[name] == int(count):
            raise Crash

    return reach


def evaluated(site: Site) -> dict[str, list[dict[str, Any]]]:
    """Return what the operators that evaluate once have stored, by table."""
    root = site.root / "warehouse"
    tables = [str(t.relative_to(root)) for t in root.glob("_state/public/*/*_evaluated")]
    return {t: contents(root, t).to_pylist() for t in tables if (root / t / "_delta_log").exists()}


@pytest.mark.parametrize("point", POINTS)
def test_an_interrupted_epoch_goes_on_with_what_it_had(
    site: Site, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    put(site.landing, "a", [(i, "ab"[i % 2], i, i % 4) for i in range(12)])
    site.define(READINGS, NAMES, DRAW)
    with site.connect() as fm, monkeypatch.context() as patch:
        patch.setattr(failpoints, "reach", crashing_at(point))
        with pytest.raises(Crash):
            fm.advance(now=NOW)
    before = evaluated(site)
    with site.connect() as fm:
        fm.advance(now=NOW)
        check(site, fm, before)


def check(site: Site, fm: Any, before: dict[str, list[dict[str, Any]]]) -> None:
    after = evaluated(site)
    assert {table: after[table] for table in before} == before
    (table,) = (t for t in after if "/drawn/" in t)
    stored = {r["id"]: r["r"] for r in after[table] if r["__error"] is None}
    assert dict(visible(site.root / "warehouse", "drawn")) == stored
    (dead,) = fm.execute("SELECT count(*) FROM drawn__dead_letter").rows[0]
    assert len(stored) + dead == 12
    for _, r, again in visible(site.root / "warehouse", "joined"):
        assert r > 0.4 and again > 0.4
    assert sum(n for _, _, n in visible(site.root / "warehouse", "largest")) == 18
