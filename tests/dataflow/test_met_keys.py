"""Views are right where a large side of a join is looked through for what a small side meets."""

from __future__ import annotations

import random
from typing import Any

import pytest

from floodmark.dataflow.stages import ObjectStages
from floodmark.limits import Limits
from tests.warehouses import Site

pytestmark = pytest.mark.spark

TABLES = """
CREATE TABLE line (k INT PRIMARY KEY, part INT, qty INT, note VARCHAR, w DOUBLE);
CREATE TABLE part (p INT PRIMARY KEY, brand VARCHAR);
"""
WEIGHTS = ["1", "NULL", "'NaN'::DOUBLE"]
MEAN = "(SELECT avg(m.qty) FROM line m WHERE m.part = {})"
QUERIES = {
    "inner_": f"""
        SELECT sum(l.qty) AS total, count(*) AS n FROM line l JOIN part ON p = l.part
        WHERE brand = 'b' AND l.qty < {MEAN.format("p")}""",
    "semi_": f"""
        SELECT l.k, l.qty FROM line l
        WHERE l.part IN (SELECT p FROM part WHERE brand = 'b') AND l.qty <= {MEAN.format("l.part")}
        """,
    "not_a_number": """
        SELECT l.k, l.w, brand FROM line l JOIN part ON p = l.part WHERE l.w > 5""",
    "padded_": """
        SELECT l.k, b.brand, t.total
        FROM line l LEFT JOIN (SELECT * FROM part WHERE brand = 'b') b ON b.p = l.part
        JOIN (SELECT m.part, sum(m.qty) AS total FROM line m GROUP BY m.part) t
        ON t.part = l.part""",
}


@pytest.mark.parametrize("lookup", [2**29, 0], ids=["here", "spark"])
def test_views_equal_their_queries(
    lookup: int, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    met, write = list[str](), ObjectStages.write

    def writing(*arguments: Any) -> Any:
        met.append(arguments[1])
        return write(*arguments)

    monkeypatch.setattr(ObjectStages, "write", writing)
    rng = random.Random(7)
    views = (f"CREATE MATERIALIZED VIEW {v} AS {query};" for v, query in QUERIES.items())
    site.define(TABLES + "\n".join(views))
    limits = Limits(reread_bytes=0, keyed_factor=4, search_bytes=lookup, search_share=1)
    with site.connect(limits=limits) as fm:
        fm.execute("INSERT INTO part VALUES " + ", ".join(f"({p}, 'b')" for p in range(40)))
        fm.execute("UPDATE part SET brand = 'a' WHERE p >= 3")
        fm.execute(f"INSERT INTO line VALUES {_lines(rng, range(400))}")
        for change in (
            f"INSERT INTO line VALUES {_lines(rng, range(400, 420))}",
            "UPDATE line SET qty = qty + 3 WHERE k % 23 = 1",
            "DELETE FROM line WHERE k % 19 = 2",
            "UPDATE part SET brand = 'b' WHERE p BETWEEN 6 AND 7",
            f"UPDATE line SET part = NULL, note = 'none' WHERE k % 29 = {rng.randrange(29)}",
        ):
            fm.execute(change)
            for view, query in QUERIES.items():
                found, wanted = (
                    sorted(map(repr, fm.execute(text).rows))
                    for text in (f"SELECT * FROM {view}", query)
                )
                assert found == wanted, (change, view)
    assert any("_meets" in name for name in met)


def _lines(rng: random.Random, keys: range) -> str:
    parts = [*range(40), "NULL"]
    return ", ".join(
        f"({k}, {rng.choice(parts)}, {rng.randrange(50)}, 'n{k}', {w})"
        for k in keys
        for w in [rng.choice(WEIGHTS)]
    )


def test_a_row_that_is_not_a_number_is_found_with_its_key(site: Site) -> None:
    """Spark leaves out groups of rows by the bounds of a column, in which NaN must not lack."""
    query = "SELECT l.k, brand FROM line l JOIN part ON p = l.part WHERE l.w > 5"
    views = (f"CREATE MATERIALIZED VIEW {v} AS {query};" for v in "uvw")
    site.define(TABLES + "".join(views))
    with site.connect(limits=Limits(reread_bytes=0, keyed_factor=10**9, search_share=1)) as fm:
        fm.execute("INSERT INTO part VALUES (1, 'a'), (2, 'b')")
        fm.execute("INSERT INTO line VALUES (1, 1, 0, '', 'NaN'::DOUBLE), (2, 1, 0, '', 1)")
        fm.execute("UPDATE part SET brand = 'c' WHERE p = 1")
        assert fm.execute("SELECT * FROM v").rows == fm.execute(query).rows == ((1, "c"),)
