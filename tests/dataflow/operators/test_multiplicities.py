"""What would be there less than no times suspends the object that finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from floodmark.dataflow.operators import filter
from floodmark.dataflow.state.arrangement import Arrangement
from floodmark.spark.rows import Rows, negate
from tests.warehouses import NOW, Site

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.spark

_VIEWS = """
CREATE TABLE t (k INT PRIMARY KEY, g INT);
CREATE MATERIALIZED VIEW counted AS SELECT g, count(*) AS n FROM t WHERE k > 0 GROUP BY g;
CREATE MATERIALIZED VIEW kept AS
    (SELECT g, k::bigint AS n FROM t ORDER BY k LIMIT 9) EXCEPT SELECT 0, 0::bigint;
CREATE MATERIALIZED VIEW plain AS SELECT g, count(*) AS n FROM t GROUP BY g;
"""


def test_a_wrong_change_suspends_groups_and_arrangements(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, after = filter.delta, Arrangement.rows_after
    site.define(_VIEWS)
    with site.connect() as fm:
        fm.execute("INSERT INTO t VALUES (1, 1), (2, 1)")
        fm.advance(now=NOW)
        assert fm.warehouse.log.suspensions() == {}

        def wrong(*args: Any) -> Rows:
            rows = right(*args)
            return rows.with_frame(negate(rows.frame))

        def negated(held: Arrangement, changes: DataFrame | None, *near: Any) -> DataFrame | None:
            return after(held, None if changes is None else negate(changes), *near)

        monkeypatch.setattr(filter, "delta", wrong)
        monkeypatch.setattr(Arrangement, "rows_after", negated)
        fm.execute("INSERT INTO t VALUES (3, 2)")
        fm.advance(now=NOW)
        suspended = fm.warehouse.log.suspensions()
        assert {key: event.code for key, event in suspended.items()} == {
            "counted": "E0610",
            "kept": "E0610",
        }
        monkeypatch.undo()
        for key in suspended:
            fm.execute(f"ALTER MATERIALIZED VIEW {key} RESUME")
        assert fm.warehouse.log.suspensions() == {}
        for key, there in (("counted", [(1, 2), (2, 1)]), ("kept", [(1, 1), (1, 2), (2, 3)])):
            rows = fm.sql(f"SELECT g, n FROM {key} ORDER BY g, n").collect()
            assert [tuple(row) for row in rows] == there
