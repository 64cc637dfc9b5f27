"""Definitions that change at random between random rows: views equal their queries, always.

Each step is a statement; some are killed within and gone on with by another connection, which has
the old definition or the new one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import floodmark
from floodmark import failpoints
from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark


class _Killed(BaseException):
    """The process ends here."""


@contextmanager
def _killed_at(monkeypatch: pytest.MonkeyPatch, count: int) -> Iterator[None]:
    """End what runs inside at the n-th failpoint that it passes."""
    left = [count]

    def die(name: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise _Killed(name)

    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "reach", die)
        with suppress(_Killed):
            yield


@dataclass
class _Model:
    """The names that the columns of `src` have now, and the queries that are in force."""

    random: random.Random
    value: str = "v"
    added: list[str] = field(default_factory=list)
    fresh: int = 0
    written: tuple[int, int] = (1, 0)
    grouped: tuple[int, str] = (2, "sum")

    def sink(self, found: tuple[int, int]) -> str:
        factor, above = found
        return f"SELECT k, {self.value} * {factor} FROM src WHERE {self.value} > {above}"

    def view(self, found: tuple[int, str]) -> str:
        groups, call = found
        return (
            f"SELECT {self.value} % {groups} AS p, {call}({self.value})::bigint AS x FROM src "
            f"GROUP BY {self.value} % {groups}"
        )

    def step(self) -> tuple[str, dict[str, object]]:
        """Return a statement, and what it changes here once it is in force."""
        chance = self.random.random()
        if chance < 0.35:
            return self._rows(), {}
        if chance < 0.5:
            self.fresh += 1
            name, default = f"c{self.fresh}", self.random.choice(["", " DEFAULT 7"])
            return f"ALTER TABLE src ADD COLUMN {name} INT{default}", {"added": [*self.added, name]}
        if chance < 0.6 and self.added:
            name = self.random.choice(self.added)
            left = [c for c in self.added if c != name]
            return f"ALTER TABLE src DROP COLUMN {name}", {"added": left}
        if chance < 0.7:
            self.fresh += 1
            name = f"v{self.fresh}"
            return f"ALTER TABLE src RENAME COLUMN {self.value} TO {name}", {"value": name}
        if chance < 0.85:
            found = (self.random.randint(1, 3), self.random.randint(-5, 5))
            return f"ALTER SINK s AS {self.sink(found)}", {"written": found}
        grouped = (self.random.randint(1, 3), self.random.choice(["sum", "min", "count"]))
        return f"ALTER MATERIALIZED VIEW g AS {self.view(grouped)}", {"grouped": grouped}

    def _rows(self) -> str:
        keys = self.random.sample(range(8), 3)
        match self.random.randint(0, 3):
            case 0:
                return f"DELETE FROM src WHERE k IN ({keys[0]}, {keys[1]})"
            case 1:
                return f"UPDATE src SET {self.value} = {self.value} + 3 WHERE k < {keys[0]}"
            case _:
                rows = ", ".join(f"({k}, {self.random.randint(-9, 9)})" for k in keys)
                return f"INSERT INTO src (k, {self.value}) VALUES {rows}"


def _check(fm: floodmark.Floodmark, model: _Model, said: str) -> None:
    def rows(query: str) -> list[str]:
        return sorted(map(str, fm.execute(query).rows))

    assert rows("SELECT * FROM g") == rows(model.view(model.grouped)), said
    assert rows("SELECT * FROM m") == rows(f"SELECT k, {model.value} FROM src"), said
    assert rows("SELECT * FROM t") == rows(model.sink(model.written)), said
    assert rows("SELECT * FROM above") == rows("SELECT count(*), sum(x)::bigint FROM g"), said
    assert rows("SELECT * FROM over") == rows("SELECT sum(y)::bigint FROM t"), said


def _run(
    sessions: Sessions, root: Path, seed: int, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    model = _Model(random.Random(seed))
    said = [f"seed {seed}"]
    fm = floodmark.connect(root, sessions=lambda: sessions)
    fm.execute_script(f"""
        CREATE TABLE src (k INT PRIMARY KEY, v INT);
        CREATE TABLE t (k INT PRIMARY KEY, y INT);
        CREATE SINK s INTO t AS {model.sink(model.written)};
        CREATE MATERIALIZED VIEW g AS {model.view(model.grouped)};
        CREATE MATERIALIZED VIEW m AS SELECT * FROM src;
        CREATE MATERIALIZED VIEW above AS SELECT count(*) AS n, sum(x)::bigint AS x FROM g;
        CREATE MATERIALIZED VIEW over AS SELECT sum(y)::bigint AS y FROM t;
    """)
    for _ in range(steps):
        statement, then = model.step()
        said.append(statement)
        before = fm.deployed.version
        if then and model.random.random() < 0.4:
            with _killed_at(monkeypatch, model.random.randint(1, 12)):
                fm.execute(statement)
            fm.close()
            fm = floodmark.connect(root, sessions=lambda: sessions)
            fm.advance()
            said[-1] += "  -- killed"
        else:
            fm.execute(statement)
        if not then or fm.deployed.version > before:
            for name, value in then.items():
                setattr(model, name, value)
        assert not fm.warehouse.log.suspensions(), said
        _check(fm, model, "\n".join(said))
    fm.close()


def test_views_follow_while_definitions_change(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(sessions, tmp_path, 1, monkeypatch, 8)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 14))
def test_views_follow_while_definitions_change_at_length(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    _run(sessions, tmp_path, seed, monkeypatch, 14)
