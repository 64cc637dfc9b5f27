"""Sinks that own columns: the reference against a model of few lines, Spark against the reference.

Two owners, a sink that writes whole rows, and statements write the same few keys at random. The key
of the sinks' rows is not that of the table. The same changes are run with other epoch boundaries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from floodmark.changelog import RowKind, is_hidden
from floodmark.reference.engine import advance
from floodmark.reference.pipeline import Delivery, EpochInput, ObjectState
from floodmark.spark.session import Sessions
from floodmark.testing.program import Epoch, Program, parse
from floodmark.testing.text import Line, decode_rows
from tests.program_reference import objects_of
from tests.program_spark import Case, run_all

SQL = """sql:  CREATE TABLE x (id INT PRIMARY KEY, k INT, a INT, b INT);
      CREATE TABLE y (id INT PRIMARY KEY, k INT, c INT);
      CREATE TABLE z (id INT PRIMARY KEY, k INT, a INT, d INT);
      CREATE TABLE t (k INT PRIMARY KEY, a INT, b INT, c INT, d INT DEFAULT 4,
                      s INT AS (coalesce(a, 0) + 10 * coalesce(c, 0)));
      CREATE SINK of_x INTO t (k, a, b) AS SELECT k, a, b FROM x WITH (on_delete = 'columns');
      CREATE SINK of_y INTO t (k, c) AS SELECT k, c FROM y WITH (on_delete = 'columns');
      CREATE SINK of_z INTO t (k, a, d) AS SELECT k, a, d FROM z;
      CREATE MATERIALIZED VIEW seen AS SELECT k, a, b, c, d, s FROM t;
epoch 1   x:
"""
WRITES = {"x": ("a", "b"), "y": ("c",), "z": ("a", "d")}
OWNED = {"x": ("a", "b"), "y": ("c",)}
Values = tuple[int | None, ...]
Changes = dict[str, list[tuple[RowKind, Values]]]
KEYS, EPOCHS = 60, 4


def _changes(random: Random) -> list[Changes]:
    """Return what comes in each epoch, by table: a few rows per key of `t` come, move and go."""
    there: dict[str, dict[int, Values]] = {name: {} for name in WRITES}
    epochs = []
    for _ in range(EPOCHS):
        changes: Changes = {}
        for name, columns in WRITES.items():
            rows = there[name]
            for key in range(KEYS):
                id_ = key * 10 + random.randint(0, 1)
                before = rows.get(id_)
                after: Values | None = None
                if random.random() < 0.6:
                    to = key if random.random() < 0.8 else random.randrange(KEYS)
                    after = (id_, to, *(random.choice([None, 1, 2]) for _ in columns))
                if random.random() < 0.5 or before == after:
                    continue
                changes.setdefault(name, []).extend(_moves(before, after))
                rows.pop(id_, None)
                rows |= {} if after is None else {id_: after}
        for key in random.sample(range(KEYS), KEYS // 6):
            kind = random.choice([RowKind.INSERT, RowKind.DELETE])
            values = (random.choice([None, 1, 2]) for _ in "abcd")
            changes.setdefault("t", []).append((kind, (key, *values)))
        epochs.append(changes)
    return epochs


def _moves(before: Values | None, after: Values | None) -> list[tuple[RowKind, Values]]:
    if before is None or after is None:
        kind = RowKind.INSERT if before is None else RowKind.DELETE
        return [(kind, row) for row in (before, after) if row is not None]
    return [(RowKind.UPDATE_BEFORE, before), (RowKind.UPDATE_AFTER, after)]


def _program(epochs: Sequence[Changes]) -> Program:
    bare = parse("-- Owners at random.\n" + SQL, "owners")
    made = []
    for number, changes in enumerate(epochs, 1):
        lines = {
            name: tuple(Line(kind, tuple(map(_text, row))) for kind, row in rows)
            for name, rows in changes.items()
        }
        made.append(Epoch(number, bare.epochs[0].now, lines))
    return Program("owners", bare.title, bare.sql, tuple(made))


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _by_reference(program: Program) -> list[tuple[Counter[Any], dict[int, Values]]]:
    """Return, by epoch, the changes of `t`, and its rows."""
    objects = objects_of(program)
    by_name = {obj.name: obj for obj in objects}
    shown = [c.name for c in by_name["t"].schema if not is_hidden(c.name)]
    states: Mapping[str, ObjectState] = {}
    out = []
    for epoch in program.epochs:
        rows = {}
        for name, lines in epoch.inputs.items():
            made = {column for column, _ in by_name[name].generated}
            columns = [
                c for c in by_name[name].input_schema if not (is_hidden(c.name) or c.name in made)
            ]
            found = decode_rows(lines, [c.type for c in columns])
            names = [c.name for c in columns]
            rows[name] = [
                Delivery(kind, dict(zip(names, v, strict=True)), "0") for kind, v in found
            ]
        dml = [("t", [(d.kind, d.row) for d in rows.pop("t", [])])]
        states, results = advance(objects, states, EpochInput(epoch.now, rows, dml))
        changes = Counter(
            (k.value, tuple(row[c] for c in shown)) for k, row in results["t"].changes
        )
        now = {row["k"]: tuple(row[c] for c in shown) for row in states["t"].rows}
        out.append((changes, now))
    return out


class _Model:
    """The table, a key at a time: a row of values, and a set of owners or None for all of it."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[dict[str, int | None], set[str] | None]] = {}

    def advance(self, changes: Changes) -> None:
        """Take in what an epoch brings: deletes of sinks, their other rows, statements."""
        for name in WRITES:
            gone, come = self._of_sink(changes.get(name, []))
            for key in gone - come:
                self._delete(name, key)
        for name in WRITES:
            for _, row in sorted(changes.get(name, []), key=lambda change: change[1][0] or 0):
                if (RowKind.INSERT, row) in changes[name] or (
                    RowKind.UPDATE_AFTER, row) in changes[name]:  # fmt: skip
                    self._write(name, row)
        for kind, row in changes.get("t", []):
            assert row[0] is not None
            self.rows.pop(row[0], None)
            if kind is RowKind.INSERT:
                self.rows[row[0]] = (dict(zip("abcd", row[1:], strict=True)), None)

    def _of_sink(self, changes: Sequence[tuple[RowKind, Values]]) -> tuple[set[int], set[int]]:
        sides: tuple[set[int], set[int]] = (set(), set())
        for kind, row in changes:
            assert row[1] is not None
            sides[kind.weight > 0].add(row[1])
        return sides

    def _delete(self, name: str, key: int) -> None:
        if key not in self.rows:
            return
        row, held = self.rows[key]
        left = None if held is None else held - {name}
        if name not in OWNED or left == set():
            del self.rows[key]
        else:
            self.rows[key] = (row | dict.fromkeys(OWNED[name]), left)

    def _write(self, name: str, values: Values) -> None:
        assert values[1] is not None
        new = dict(zip(WRITES[name], values[2:], strict=True))
        empty: dict[str, int | None] = {"a": None, "b": None, "c": None, "d": 4}
        if name not in OWNED:
            self.rows[values[1]] = (empty | new, None)
            return
        row, held = self.rows.get(values[1], (empty, set()))
        self.rows[values[1]] = (row | new, None if held is None else held | {name})

    def shown(self) -> dict[int, Values]:
        """Return the rows by key, with what is generated."""
        return {
            k: (k, *row.values(), (row["a"] or 0) + 10 * (row["c"] or 0))
            for k, (row, _) in self.rows.items()
        }


def _cut(epochs: Sequence[Changes], cut: Sequence[int]) -> list[Changes]:
    """Return the epochs as fewer ones, of so many each."""
    starts = [sum(cut[:i]) for i in range(len(cut))]
    parts = [epochs[at : at + size] for at, size in zip(starts, cut, strict=True)]
    return [_together(part) for part in parts]


def _together(part: Sequence[Changes]) -> Changes:
    """Return several epochs as one; of the tables that sinks read what is left of their rows."""
    out: Changes = {"t": [change for changes in part for change in changes.get("t", [])]}
    for name in WRITES:
        sides: dict[int, list[Values | None]] = {}
        for kind, row in (change for changes in part for change in changes.get(name, [])):
            assert row[0] is not None
            side = sides.setdefault(row[0], [row if kind.weight < 0 else None, None])
            side[1] = row if kind.weight > 0 else None
        out[name] = [
            change for old, new in sides.values() if old != new for change in _moves(old, new)
        ]
    return out


@pytest.mark.parametrize("seed", range(40))
def test_the_reference_holds_rows_as_the_model_does(seed: int) -> None:
    epochs = _cut(_changes(Random(seed)), [(1, 1, 1, 1), (2, 2), (1, 3), (4,)][seed % 4])
    model = _Model()
    for changes, (_, rows) in zip(epochs, _by_reference(_program(epochs)), strict=True):
        model.advance(changes)
        assert rows == model.shown()


def _check(seed: int, cut: Sequence[int], sessions: Sessions, root: Path) -> None:
    program = _program(_cut(_changes(Random(seed)), cut))
    run = run_all([Case(program, "", root / "in")], root / "w", sessions)
    outcome = run.outcome()
    assert not outcome.broken
    for number, (wanted, rows) in enumerate(_by_reference(program), 1):
        for name in ("t", "seen"):
            changes = outcome.found[name].changes.get(number, [])
            found = Counter((kind.value, values) for kind, values in changes)
            assert found == wanted, (number, name, found - wanted, wanted - found)
        assert len(rows) > KEYS // 4


@pytest.mark.spark
def test_spark_holds_rows_as_the_reference_does(sessions: Sessions, tmp_path: Path) -> None:
    _check(1, (1, 1, 2), sessions, tmp_path)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(2, 10))
def test_spark_holds_rows_as_the_reference_does_however_cut(
    sessions: Sessions, tmp_path: Path, seed: int
) -> None:
    _check(seed, [(1, 1, 1, 1), (2, 2), (1, 3), (4,)][seed % 4], sessions, tmp_path)
