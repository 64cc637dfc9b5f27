"""Dead letters of a query that is another one: those of the new query in batch, and no others.

Steps are killed at each point at which they can be, and gone on with by another connection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import floodmark
from floodmark import failpoints
from floodmark.changelog import ERROR, WEIGHT
from floodmark.spark.session import Sessions
from tests.warehouses import contents

pytestmark = pytest.mark.spark
SOURCE = "CREATE TABLE src (k INT PRIMARY KEY, v INT)"
TARGET = "CREATE TABLE t (k INT PRIMARY KEY, y BIGINT NOT NULL)"
OTHER = "CREATE SINK o INTO t AS SELECT 100 + k, (7 / v)::bigint FROM src WHERE k > 2"
ROWS = "INSERT INTO src VALUES (1, 10), (2, 0), (3, 4), (4, 0), (5, NULL), (6, 0)"
QUERIES = [
    "SELECT k, 1000 / v AS y FROM src WHERE k < 6",
    "SELECT k, 1000 / v AS y FROM src WHERE k > 3",
    "SELECT k, sum(1000 / v)::bigint AS y FROM src WHERE k > 1 GROUP BY k",
    "SELECT k, (1000 / (v - 4))::bigint AS y FROM src WHERE v IS NOT NULL",
    "SELECT k, v::bigint AS y FROM src WHERE v IS NOT NULL",
    "SELECT k, (1000 / v)::bigint AS y FROM src WHERE k IN (2, 5)",
]
Letters = Counter[tuple[object, ...]]


def _letters(fm: floodmark.Floodmark, name: str) -> Letters:
    """Return the total of each dead letter of an object; none is below 0."""
    found: Letters = Counter()
    if fm.warehouse.store.exists(f"_dead_letter/public/{name}"):
        for row in contents(fm.root, f"_dead_letter/public/{name}").to_pylist():
            found[tuple(row[ERROR].values())] += row[WEIGHT]
    assert min(found.values(), default=0) >= 0, found
    # A query that is altered is written anew: the same expression can be another text.
    shown: Letters = Counter()
    for (code, _, *rest), total in found.items():
        shown[code, *rest] += total
    return +shown


def _expected(root: Path, sessions: Sessions, *texts: str) -> tuple[Letters, Letters]:
    """Return the letters of the table and of the view where they are created with all rows."""
    with floodmark.connect(root, sessions=lambda: sessions) as fm:
        fm.execute_script(";".join([SOURCE, TARGET, *texts]))
        return _letters(fm, "t"), _letters(fm, "m")


class _Killed(BaseException):
    """The process ends here."""


@contextmanager
def _killed_at(monkeypatch: pytest.MonkeyPatch, point: str, count: int = 1) -> Iterator[None]:
    """End what runs inside where it passes a point for the n-th time."""
    left = [count]

    def die(name: str) -> None:
        left[0] -= name == point
        if left[0] == 0:
            raise _Killed(name)

    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "reach", die)
        with pytest.raises(_Killed):
            yield


def _checked(fm: floodmark.Floodmark) -> None:
    """Check that what came is accounted for, and that the epoch gives the same once more."""
    record = fm.warehouse.cut().records["t"]
    assert record.ignored_rows >= 0
    epoch = fm.warehouse.log.head().sealed
    assert {r.result.name for r in fm.replay(epoch=epoch)} <= {"SAME", "IMPOSSIBLE"}


@pytest.mark.long
def test_letters_are_those_of_the_query_in_force(sessions: Sessions, tmp_path: Path) -> None:
    sink, view = "SINK s {} " + QUERIES[0], "MATERIALIZED VIEW m AS " + QUERIES[0]
    with floodmark.connect(tmp_path / "w", sessions=lambda: sessions) as fm:
        fm.execute_script(
            ";".join([SOURCE, TARGET, OTHER, f"CREATE {sink.format('INTO t AS')}",
                      f"CREATE {view}", ROWS])
        )  # fmt: skip
        for number, query in enumerate([*QUERIES[1:], QUERIES[-1]]):
            fm.execute(f"ALTER SINK s AS {query} WITH (backfill = 'diff')")
            _checked(fm)
            fm.execute(f"ALTER MATERIALIZED VIEW m AS {query}")
            texts = [ROWS, OTHER, f"CREATE SINK s INTO t AS {query}",
                     f"CREATE MATERIALIZED VIEW m AS {query}"]  # fmt: skip
            expected = _expected(tmp_path / str(number), sessions, *texts)
            assert (_letters(fm, "t"), _letters(fm, "m")) == expected, query
        fm.execute("UPDATE src SET v = 5 WHERE k = 2")
        assert not _letters(fm, "m")
        fm.execute("DROP SINK s WITH ROWS")
        assert _letters(fm, "t") == _expected(tmp_path / "o", sessions, ROWS, OTHER)[0]
        fm.execute("DROP SINK o WITH ROWS")
        assert not _letters(fm, "t")
        assert fm.execute("SELECT * FROM t__dead_letter").rows == ()


STEPS = [
    (f"ALTER SINK s AS {QUERIES[1]}", "t", QUERIES[1]),
    (f"ALTER SINK s AS {QUERIES[3]}", "t", QUERIES[3]),
    (f"ALTER MATERIALIZED VIEW m AS {QUERIES[1]}", "m", QUERIES[1]),
    ("DROP SINK s WITH ROWS", "t", None),
]
POINTS = ["change_logged", "files_written", "dead_letter_committed", "first_table_committed",
          "before_seal"]  # fmt: skip


@pytest.mark.parametrize(
    "point",
    [POINTS[2], *(pytest.param(p, marks=pytest.mark.long) for p in POINTS if p != POINTS[2])],
)
def test_letters_are_taken_back_once(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    fm = floodmark.connect(tmp_path / "w", sessions=lambda: sessions)
    query = QUERIES[0]
    fm.execute_script(
        ";".join([SOURCE, TARGET, f"CREATE SINK s INTO t AS {query}",
                  f"CREATE MATERIALIZED VIEW m AS {query}", ROWS])
    )  # fmt: skip
    for number, (statement, name, now) in enumerate(STEPS):
        with _killed_at(monkeypatch, point):
            fm.execute(statement)
        fm.close()
        fm = floodmark.connect(tmp_path / "w", sessions=lambda: sessions)
        fm.advance()
        texts = [] if now is None else [f"CREATE SINK s INTO t AS {now}"]
        texts += [] if now is None else [f"CREATE MATERIALIZED VIEW m AS {now}"]
        expected = _expected(tmp_path / str(number), sessions, ROWS, *texts)
        assert _letters(fm, name) == expected[name == "m"], statement
    fm.close()
