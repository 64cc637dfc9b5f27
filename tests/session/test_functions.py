"""Functions of users, from CREATE to DROP: in views, in queries, in statements, with bad rows."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from floodmark.errors import DataError, UserError
from tests.warehouses import NAMES, READINGS, Site, put, visible

pytestmark = pytest.mark.spark

GRADE = """
CREATE FUNCTION grade(v INT, k TEXT) RETURNS TEXT LANGUAGE python IMMUTABLE AS $$
def grade(v, k):
    if v == 2:
        raise ValueError("two is not graded")
    return v if v == 3 else f"{k}{v}"
$$;
"""
NET = "CREATE FUNCTION net(v INT) RETURNS NUMERIC(9,2) LANGUAGE sql AS $$ v / 1.25 $$;"
VIEW = "CREATE MATERIALIZED VIEW g AS SELECT id, grade(v, k) AS grade, net(v) AS net FROM s;"


def test_a_function_from_create_to_drop(site: Site) -> None:
    put(site.landing, "a", [(i, "x", i, i or None) for i in range(5)])
    site.define(READINGS, NAMES, GRADE, NET, VIEW)
    with site.connect() as fm:
        fm.advance()
        assert visible(site.root / "warehouse", "g") == [
            (0, "xNone", None),
            (1, "x1", Decimal("0.80")),
            (4, "x4", Decimal("3.20")),
        ]
        dead = fm.execute("SELECT reason, message FROM g__dead_letter ORDER BY reason").rows
        assert list(dead) == [
            ("E0626", "grade(): ValueError: two is not graded"),
            ("E0627", "grade(): gave 3 (int), no value of character varying"),
        ]
        _in_statements(fm)
        with pytest.raises(UserError) as used:
            fm.execute("DROP FUNCTION grade")
        assert used.value.code == "E0205"
        assert [row[0] for row in fm.execute("SHOW FUNCTIONS").rows] == ["grade", "net", "twice"]
        shown = fm.execute("SHOW CREATE FUNCTION net").rows[0]
        assert shown[0] == "net" and "LANGUAGE sql" in shown[1]
        assert "grade(v, k)" in str(fm.explain("g"))


def _in_statements(fm) -> None:  # type: ignore[no-untyped-def]
    drawn = fm.execute("SELECT grade(9, 'q'), net(10), random() BETWEEN 0 AND 1").rows
    assert list(drawn) == [("q9", 8, True)]
    with pytest.raises(UserError) as refused:
        fm.execute("SELECT grade(2, 'q')")
    assert refused.value.code == "E0626"
    fm.execute("CREATE FUNCTION twice(t TEXT) RETURNS TEXT LANGUAGE python AS 'operator.neg'")
    fm.execute("INSERT INTO d VALUES ('x', grade(7, 'n'))")
    fm.execute("UPDATE d SET name = grade(8, name) WHERE grade(1, k) = 'x1'")
    assert list(fm.execute("SELECT * FROM d").rows) == [("x", "n78")]


def test_a_function_alone_in_the_files_is_deployed(site: Site) -> None:
    site.define(NET)
    with site.connect() as fm:
        assert list(fm.execute("SELECT net(10)").rows) == [(8,)]
    site.define(NET.replace("1.25", "2.5"))
    with site.connect() as fm:
        assert list(fm.execute("SELECT net(10)").rows) == [(4,)]
        assert fm.plan(site.pipelines).changes == ()


PICKY = """
CREATE FUNCTION picky(v INT) RETURNS INT LANGUAGE python {} AS $$
def picky(v):
    raise ValueError(f"{{v}} of {{object()}}\\n" + v * "\\ud800")
$$;
CREATE FUNCTION checked(v INT) RETURNS INT LANGUAGE python IMMUTABLE AS $$
def checked(v):
    return v + 1 if v < 2 else picked
$$;
CREATE SOURCE g (id BIGINT, w INT AS checked(v), v INT)
    WITH (connector = 'files', path = '{{landing}}') FORMAT PLAIN ENCODE JSON;
CREATE TABLE t (k INT PRIMARY KEY, v INT);
CREATE MATERIALIZED VIEW chosen AS SELECT k, 1 AS one FROM t WHERE picky(v) > abs(picky(k));
CREATE MATERIALIZED VIEW summed AS SELECT sum(picky(v)) FILTER (WHERE k > 0) AS n FROM t;
CREATE MATERIALIZED VIEW divided AS SELECT k / v AS q, picky(k) AS p FROM t WHERE k / v > 0;
"""


@pytest.mark.parametrize("determinism", ["IMMUTABLE", "VOLATILE"])
def test_what_a_function_says_is_in_its_dead_letter(site: Site, determinism: str) -> None:
    site.landing.mkdir()
    (site.landing / "a.json").write_text('{"id": 7, "v": 1}\n{"id": 8, "v": 2}\n')
    site.define(PICKY.format(determinism))
    said = "picky(): ValueError: {} of <object object at 0x…>{}".format

    def messages(name: str) -> list[tuple[str, ...]]:
        return sorted(fm.execute(f"SELECT message, reason FROM {name}__dead_letter").rows)

    with site.connect() as fm:
        fm.advance()
        assert visible(site.root / "warehouse", "g") == [(7, 2, 1)]
        assert messages("g") == [("checked(): NameError: name 'picked' is not defined", "E0626")]
        fm.execute("INSERT INTO t VALUES (1, 0)")
        one, none = said(1, " ?"), said(0, "")
        assert messages("chosen") == [(f"{one}; {none}", "E0626")]
        assert messages("summed") == [(none, "E0626")]
        ((told, code),) = messages("divided")
        assert code == "E0621" and told.startswith("division by zero: ")
        for query in ("SELECT picky(v) FROM t", "SELECT sum(picky(v)) FROM t"):
            with pytest.raises(DataError, match=re.escape(none)) as refused:
                fm.execute(query)
            assert refused.value.code == "E0626"
        fm.execute("DELETE FROM t")
        for name in ("chosen", "summed", "divided"):
            assert messages(name) == []
