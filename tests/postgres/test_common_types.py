"""Two numbers of any types meet in the type in which PostgreSQL lets them meet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres.cluster import missing, running
from tests.postgres.comparison import agree, meaning

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
TYPES = ("smallint", "int", "bigint", "numeric", "numeric(14,4)", "real", "double precision")
VALUES = ("1", "0.1", "16777217", "9007199254740993", "2.5")
"""What REAL and DOUBLE do not have as it is, and what they have."""
MET = (
    "{a} = {b}", "{a} <> {b}", "{a} < {b}", "{a} >= {b}", "{a} IS DISTINCT FROM {b}",
    "{a} BETWEEN {b} AND {a}", "{a} IN ({b})", "{a} IN ({b}, 7)", "{a} IN (7, '0.1')",
    "{a} NOT IN ({b}, {a})", "{a} = ANY (ARRAY[{b}, NULL])", "{a} = ANY ('{{0.1,1}}'::{B}[])",
    "{a} <> ALL (ARRAY[{b}])", "({a}, 1) = ({b}, 1)", "CASE {a} WHEN {b} THEN 1 ELSE 2 END",
    "nullif({a}, {b})", "nullif({a}, 0.1)", "coalesce(NULL::{A}, {b}, {a})", "coalesce({a}, {b})",
    "greatest({a}, {b})", "least({a}, {b}, 0.1)", "CASE WHEN {a} > 1 THEN {a} ELSE {b} END",
    "ARRAY[{a}, {b}]", "array_position(ARRAY[{a}], {b})", "array_positions(ARRAY[{a}], {b})",
    "array_remove(ARRAY[{a}], {b})", "array_append(ARRAY[{a}], {b})", "ARRAY[{a}] || {b}",
    "array_replace(ARRAY[{a}], {b}, {a})", "{a} + {b}", "{a} - {b}", "{a} * 1::{B}",
)  # fmt: skip
"""Expressions in which two numbers meet: their values are `a` and `b`, their types `A` and `B`."""
QUERIES = (
    "SELECT array_agg(x ORDER BY x) FROM (SELECT {a} UNION ALL SELECT {b}) t(x)",
    "SELECT array_agg(x ORDER BY x) FROM (SELECT {a} UNION SELECT {b}) t(x)",
    "SELECT count(*) FROM (SELECT {a} INTERSECT SELECT {b}) t(x)",
    "SELECT count(*) FROM (SELECT {a} EXCEPT SELECT {b}) t(x)",
    "SELECT array_agg(x ORDER BY x) FROM (VALUES ({a}), ({b})) t(x)",
    "SELECT array_agg(x) FROM (VALUES ({a})) t(x) JOIN (VALUES ({b})) u(x) USING (x)",
    "SELECT array_agg(x) FROM (VALUES ({a})) t(x) LEFT JOIN (VALUES ({b})) u(x) USING (x)",
    "SELECT array_agg(x ORDER BY x) FROM (SELECT {a} x) t FULL JOIN (SELECT {b} x) u USING (x)",
    "SELECT array_agg(x) FROM (VALUES ({a})) t(x) NATURAL RIGHT JOIN (VALUES ({b})) u(x)",
    "SELECT count(*) FROM (VALUES ({a})) t(x) JOIN (VALUES ({b})) u(y) ON x = y",
    "SELECT count(*) FROM (VALUES ({a})) t(x) WHERE x IN (SELECT y FROM (VALUES ({b})) u(y))",
    "SELECT count(*) FROM (VALUES ({a})) t(x) WHERE x NOT IN (SELECT y FROM (VALUES ({b})) u(y))",
    "SELECT count(*) FROM (VALUES ({a}, {b})) t(x, y) WHERE x IN (y)",
    "SELECT count(*) FROM (VALUES ({a}, {b})) t(x, y) WHERE x IN (y, 7, 0.1)",
    "SELECT count(*) FROM (VALUES ({a}, {b})) t(x, y) WHERE nullif(x, y) IS NULL",
    "SELECT array_agg(z) FROM (SELECT lag(x, 1, y) OVER () FROM (VALUES ({a}, {b})) t(x, y)) u(z)",
)  # fmt: skip


def written() -> Iterator[str]:
    for a in TYPES:
        for b in TYPES:
            for number in VALUES:
                ends = [f"'{number if _fits(number, t) else '1'}'::{t}" for t in (a, b)]
                given = {"a": ends[0], "b": ends[1], "A": a, "B": b}
                yield from (f"({form.format(**given)})" for form in (*MET, *QUERIES))


def _fits(number: str, type_: str) -> bool:
    match type_:
        case "smallint" | "int" | "bigint" if "." in number:
            return False
        case "smallint":
            return len(number) < 5
        case "int" | "numeric(14,4)":
            return len(number) < 10
        case _:
            return True


def test_numbers_meet_in_the_type_of_postgresql() -> None:
    texts = list(dict.fromkeys(written()))
    with running() as server:
        answers = server.ask(texts)
    meanings = [meaning(text) for text in texts]
    found = zip(texts, meanings, answers, strict=True)
    wrong = [f"{t}\n    {m.shown}\n    {p}" for t, m, p in found if not agree(m, p)]
    assert not wrong, "\n".join(wrong)
    understood = [p for m, p in zip(meanings, answers, strict=True) if m.refused is None]
    assert len(understood) > 0.9 * len(texts)
