"""`floodmark diff`: what differs between two things that can be read."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from floodmark.api import Floodmark
from floodmark.cli.app import app, invoke
from floodmark.cli.diff import diff_json, text_of
from floodmark.errors import FloodmarkError
from floodmark.spark.session import Sessions
from floodmark.tools.diff import diff
from tests.warehouses import Site

pytestmark = pytest.mark.spark

TABLES = """
CREATE TABLE a (k INT PRIMARY KEY, name VARCHAR, x DOUBLE, i INTERVAL, m MAP(VARCHAR, INT));
CREATE TABLE b (k INT PRIMARY KEY, name VARCHAR, x DOUBLE, i INTERVAL, m MAP(VARCHAR, INT));
CREATE TABLE wide (k BIGINT PRIMARY KEY, name VARCHAR, x VARCHAR, more INT);
CREATE TABLE bag_a (v INT, w VARCHAR);
CREATE TABLE bag_b (v INT, w VARCHAR);
CREATE TABLE other (z INT PRIMARY KEY);
CREATE VIEW plain AS SELECT * FROM a;
"""
SAME = """
(1, 'one', 'NaN'::double, INTERVAL '1 day', map_from_key_values(ARRAY['p', 'q'], ARRAY[1, 2])),
(2, 'two', -0.0::double, INTERVAL '1 hour', map_from_key_values(ARRAY['p'], ARRAY[1])),
(3, NULL, NULL, NULL, NULL)
"""
ALIKE = (
    SAME.replace("1 day", "24 hours")
    .replace("-0.0", "0.0")
    .replace("'p', 'q'], ARRAY[1, 2]", "'q', 'p'], ARRAY[2, 1]")
)


@pytest.fixture(scope="module")
def fm(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Iterator[Floodmark]:
    """Yield a warehouse of tables that are alike, and then differ."""
    site = Site(tmp_path_factory.mktemp("diff"), sessions)
    site.define(TABLES)
    with site.connect() as connection:
        connection.execute(f"INSERT INTO a VALUES {SAME}")
        connection.execute(f"INSERT INTO b VALUES {ALIKE}")
        connection.execute_script(
            "BEGIN; UPDATE b SET name = 'drei', x = 3 WHERE k = 3; DELETE FROM b WHERE k = 2;"
            "INSERT INTO b (k, name) VALUES (4, 'four'), (5, 'five');"
            "INSERT INTO wide VALUES (1, 'one', 'NaN', 7), (2, 'two', '0', 7), (3, NULL, NULL, 7);"
            "INSERT INTO bag_a VALUES (1, 'x'), (1, 'x'), (2, NULL);"
            "INSERT INTO bag_b VALUES (1, 'x'), (2, NULL), (2, NULL), (3, 'y'); COMMIT;"
        )
        yield connection


def test_equal_values_are_equal_however_they_are_written(fm: Floodmark) -> None:
    sealed = fm.warehouse.log.head().sealed
    found = diff(fm, "a", f"b@{sealed - 1}")
    assert found.same and found.key == ("k",) and (found.rows_a, found.rows_b) == (3, 3)
    assert "rows     the same" in text_of(found)
    assert diff(fm, "a", "plain").same


def test_rows_are_told_apart_by_the_key_of_both(fm: Floodmark) -> None:
    found = diff(fm, "a", "b")
    assert (found.only_a, found.only_b, found.changed) == (1, 2, 1)
    assert found.changed_columns == {"name": 1, "x": 1}
    assert text_of(found).splitlines()[4:] == [
        "rows     1 only in A, 2 only in B, 1 changed",
        "columns  name 1, x 1",
        "changed    k 3, name NULL -> drei, x NULL -> 3",
        "only in A  k 2, name two, x -0, i 01:00:00, m {('p', 1)}",
        "only in B  k 4, name four, x NULL, i NULL, m NULL",
        "only in B  k 5, name five, x NULL, i NULL, m NULL",
    ]
    assert len(diff(fm, "a", "b", limit=1).examples) == 3
    assert diff(fm, "a", "b", limit=0).examples == ()
    epochs = diff(fm, "b", "b", at_epoch=fm.warehouse.log.head().sealed - 1)
    assert epochs.same


def test_one_thing_at_two_epochs(fm: Floodmark) -> None:
    sealed = fm.warehouse.log.head().sealed
    found = diff(fm, f"b@{sealed - 1}", "b")
    assert (found.a.epoch, found.b.epoch) == (sealed - 1, sealed)
    assert (found.only_a, found.only_b, found.changed) == (1, 2, 1)


def test_columns_that_differ_are_said_and_numbers_compared(fm: Floodmark) -> None:
    found = diff(fm, "a", "wide")
    said = [line for line in text_of(found).splitlines() if line.startswith("column")]
    assert said == [
        "column   k is integer in A, bigint in B",
        "column   x is double precision in A, character varying in B: not compared",
        "column   i is only in A: interval",
        "column   m is only in A: map(character varying, integer)",
        "column   more is only in B: integer",
    ]
    assert found.same_rows and not found.same and found.key == ("k",)


def test_without_a_key_rows_are_counted(fm: Floodmark) -> None:
    found = diff(fm, "bag_a", "bag_b")
    assert (found.key, found.only_a, found.only_b, found.changed) == ((), 1, 2, 0)
    shown = [(e.kind, e.a, e.b) for e in found.examples]
    assert shown == [
        ("only in A", (1, "x"), None),
        ("only in B", None, (2, None)), ("only in B", None, (3, "y")),
    ]  # fmt: skip
    by_name = diff(fm, "a", "b", key=["name", "k"])
    assert (by_name.only_a, by_name.only_b, by_name.changed) == (2, 3, 0)


def test_a_delta_table_from_elsewhere(fm: Floodmark) -> None:
    path = str(fm.root / "public" / "a")
    assert diff(fm, path, "a").key == ("k",)
    assert diff(fm, path, "a").same
    old = diff(fm, f"{path}@0", "a")
    assert (old.a.version, old.rows_a, old.only_b) == (0, 0, 3)


@pytest.mark.parametrize(
    ("a", "b", "key", "code"),
    [
        ("a@soon", "b", None, "E0770"),
        ("a", "./nowhere", None, "E0770"),
        ("a", "nothing", None, "E0201"),
        ("a", "other", None, "E0771"),
        ("a", "b", ["nosuch"], "E0772"),
        ("bag_a", "bag_b", ["v"], "E0772"),
        ("a@999", "b", None, "E0410"),
    ],
)
def test_what_cannot_be_compared(
    fm: Floodmark, a: str, b: str, key: list[str] | None, code: str
) -> None:
    with pytest.raises(FloodmarkError) as refused:
        diff(fm, a, b, key=key)
    assert refused.value.code == code and refused.value.hint


def test_json_is_json(fm: Floodmark) -> None:
    data = json.loads(json.dumps(diff_json(diff(fm, "a", "b"))))
    assert data["changed_columns"] == {"name": 1, "x": 1} and not data["same"]
    assert data["examples"][0]["b"]["name"] == "drei"


def test_the_command_exits_with_2_where_something_differs(fm: Floodmark) -> None:
    def call(*arguments: str) -> int:
        return CliRunner().invoke(app, ["-w", str(fm.root), "diff", *arguments]).exit_code

    assert [call("a", "a"), call("a", "b"), call("a", "nothing")] == [0, 2, 1]
    assert invoke(["-w", str(fm.root), "diff", "a", "b", "--key", ","]) == 1
