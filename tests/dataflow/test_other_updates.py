"""Updates of columns that a view does not read are left out before any table is read for them."""

from __future__ import annotations

from typing import Any

import pytest

from floodmark.dataflow.output import OperatorOutput
from floodmark.limits import Limits
from floodmark.tools.equivalence import compare
from tests.warehouses import Site

pytestmark = pytest.mark.spark

_PIPELINE = """
CREATE TABLE line (k INT PRIMARY KEY, o INT, a INT, b INT, note VARCHAR, w DOUBLE);
CREATE TABLE orders (o INT PRIMARY KEY, kind VARCHAR, note VARCHAR);
CREATE MATERIALIZED VIEW late AS SELECT kind, count(*) AS n FROM orders
    WHERE EXISTS (SELECT 1 FROM line WHERE line.o = orders.o AND a < b) GROUP BY kind;
CREATE MATERIALIZED VIEW joined AS
    SELECT k, kind, a FROM line LEFT JOIN orders ON line.o = orders.o;
CREATE MATERIALIZED VIEW highest AS SELECT o, max(a) AS a FROM line GROUP BY o;
"""
_OTHERS = (
    "UPDATE line SET note = 'm' || k WHERE k % 3 = 0",
    "UPDATE line SET w = -w",
    "UPDATE orders SET note = NULL",
)
_READ = (
    "UPDATE line SET note = 'x', b = b + k % 2 WHERE k < 30",
    "UPDATE line SET a = NULL WHERE k IN (5, 6)",
    "UPDATE line SET o = 3, note = 'o' WHERE k IN (7, 8)",
    "DELETE FROM line WHERE k % 10 = 1",
)
_VIEWS = ("late", "joined", "highest")


@pytest.mark.parametrize("least", [0, 2**40])
def test_views_equal_their_queries(site: Site, monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    site.define(_PIPELINE)
    read, reread = list[str](), OperatorOutput._reread

    def rereading(output: OperatorOutput, *arguments: Any, **options: Any) -> Any:
        read.append(output.operator.identifier)
        return reread(output, *arguments, **options)

    monkeypatch.setattr(OperatorOutput, "_reread", rereading)
    with site.connect(limits=Limits(reread_bytes=least)) as fm:
        fm.execute(
            "INSERT INTO orders SELECT i, CASE WHEN i % 5 > 0 THEN 'k' || (i % 3) END, 'n'"
            " FROM generate_series(1, 20) AS s(i)"
        )
        fm.execute(
            "INSERT INTO line SELECT i, i % 22, i % 7, i % 4, 'n', 1.0"
            " FROM generate_series(1, 80) AS s(i)"
        )
        for statement in (*_OTHERS, *_READ):
            read.clear()
            before = fm.status()
            fm.execute(statement)
            after = fm.status()
            if statement in _OTHERS:
                assert bool(read) == bool(least), (statement, read)
                assert all(after[v] is before[v] or not after[v].rows_out for v in _VIEWS)
            assert not {v: d for v, d in compare(fm, _VIEWS).items() if d.rows}, statement
