"""Tables under sinks, statements and every conflict behaviour: Spark against the reference merge.

The key of the sinks' rows is not that of the tables. Two rows each have a key of two, or are not
there: all that they can do in three epochs is a case of its own, all cases run at once, some with
another sink and statements beside it. The same changes are run with other epoch boundaries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random

import pytest

from floodmark.changelog import RowKind, is_hidden
from floodmark.reference.engine import advance
from floodmark.reference.pipeline import Delivery, EpochInput, ObjectState
from floodmark.spark.session import Sessions
from floodmark.testing.program import Epoch, Program, parse
from floodmark.testing.text import Line, decode_rows
from tests.program_reference import objects_of
from tests.program_spark import Case, run_all

pytestmark = pytest.mark.spark
TARGETS = {
    "t_full": "",
    "t_nothing": "ON CONFLICT DO NOTHING",
    "t_set_ones": "ON CONFLICT DO UPDATE IF NOT NULL",
    "t_versions": "ON CONFLICT DO UPDATE FULL WITH VERSION COLUMN (at)",
    "t_merged": "ON CONFLICT DO UPDATE IF NOT NULL WITH VERSION COLUMN (at, v)",
    "t_sums": "ON CONFLICT DO UPDATE SET v = t_sums.v + EXCLUDED.v, at = EXCLUDED.at "
    "WHERE EXCLUDED.v IS NOT NULL",
    "t_owned": "",
    "t_held": "ON CONFLICT DO UPDATE IF NOT NULL",
}
FORCED, OWNING = " WITH (force_append_only = 'true')", " WITH (on_delete = 'columns')"
SINKS = {
    "t_sums": ("(k, v, at) AS SELECT k, v, at", FORCED, "(k, v)", FORCED),
    "t_owned": ("(k, v) AS SELECT k, v", OWNING, "(k, at)", OWNING),
    "t_held": ("(k, v, at) AS SELECT k, v, at", OWNING, "(k, v)", ""),
}
PLAIN = ("AS SELECT k, v, at", "", "(k, v)", "")
"""What sinks of x and y write, and how, where the table's are not these."""
SQL = """sql:  CREATE TABLE x (id INT PRIMARY KEY, k INT, v INT, at INT);
      CREATE TABLE y (id INT PRIMARY KEY, k INT, v INT);
{}
epoch 1   x:
"""
_STATES = (None, 1, 2)
_Row = tuple[int, int | None, int | None, int]


def _sql() -> str:
    lines = []
    for name, clause in TARGETS.items():
        mine, tail, others, last = SINKS.get(name, PLAIN)
        lines += [
            f"      CREATE TABLE {name} (k INT PRIMARY KEY, v INT, at INT) {clause};",
            f"      CREATE SINK x_{name} INTO {name} {mine} FROM x{tail};",
            f"      CREATE SINK y_{name} INTO {name} {others} AS SELECT k, v FROM y{last};",
        ]
    return SQL.format("\n".join(lines))


def _line(kind: RowKind, *values: int | None) -> Line:
    return Line(kind, tuple(None if value is None else str(value) for value in values))


def _moves(before: _Row | None, after: _Row | None) -> Iterator[Line]:
    if before == after:
        return
    if before is not None:
        gone = RowKind.DELETE if after is None else RowKind.UPDATE_BEFORE
        yield _line(gone, *before)
    if after is not None:
        yield _line(RowKind.INSERT if before is None else RowKind.UPDATE_AFTER, *after)


def _epochs(seed: int) -> list[dict[str, list[Line]]]:
    """Return what comes in three epochs, by object: every way of two rows, case after case."""
    random = Random(seed)
    epochs: list[dict[str, list[Line]]] = [{"x": [], "y": []} for _ in range(3)]
    for case, ways in enumerate(product(product(_STATES, repeat=3), repeat=2)):
        for number, way in enumerate(ways):
            row: _Row | None = None
            for epoch, key in enumerate(way):
                value = random.choice([None, random.randint(-9, 9)])
                same = row is not None and key is not None and random.random() < 0.3
                now = None if key is None else (case * 10 + number, case * 10 + key, value, epoch)
                after = row if same and now is not None and row[1] == now[1] else now
                if after is not None and random.random() < 0.2:
                    after = (*after[:3], random.randint(0, 2))
                epochs[epoch]["x"] += _moves(row, after)
                row = after
        there: tuple[int, int, int] | None = None
        for epoch in range(3):
            if there is not None and random.random() < 0.4:
                epochs[epoch]["y"].append(_line(RowKind.DELETE, *there))
                there = None
            if case % 3 == 1 and random.random() < 0.5:
                key = case * 10 + random.randint(1, 2)
                there = (case * 100 + epoch, key, random.randint(-9, 9))
                epochs[epoch]["y"].append(_line(RowKind.INSERT, *there))
            if case % 3 == 2 and random.random() < 0.5:
                values = (case * 10 + random.randint(1, 2), random.randint(-9, 9), epoch)
                kind = random.choice([RowKind.INSERT, RowKind.INSERT, RowKind.DELETE])
                for name in TARGETS:
                    epochs[epoch].setdefault(name, []).append(_line(kind, *values))
    return epochs


def _program(epochs: Sequence[Mapping[str, Sequence[Line]]]) -> Program:
    bare = parse("-- Every interleaving.\n" + _sql(), "merging")
    start = bare.epochs[0].now
    made = tuple(
        Epoch(number, start, {name: tuple(lines) for name, lines in inputs.items()})
        for number, inputs in enumerate(epochs, 1)
    )
    return Program("merging", bare.title, bare.sql, made)


def _joined(parts: Sequence[Mapping[str, list[Line]]]) -> dict[str, list[Line]]:
    """Return several epochs as one."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: [line for part in parts for line in part.get(name, [])] for name in names}


def _by_reference(program: Program) -> list[dict[str, Counter[object]]]:
    """Return, by epoch and table, the changes that the reference makes."""
    objects = objects_of(program)
    by_name = {obj.name: obj for obj in objects}
    states: Mapping[str, ObjectState] = {}
    out = []
    for epoch in program.epochs:
        rows: dict[str, list[Delivery]] = {}
        for name, lines in epoch.inputs.items():
            columns = [c for c in by_name[name].input_schema if not is_hidden(c.name)]
            found = decode_rows(lines, [c.type for c in columns])
            names = [c.name for c in columns]
            rows[name] = [
                Delivery(kind, dict(zip(names, values, strict=True)), "0") for kind, values in found
            ]
        dml = [(t, [(d.kind, d.row) for d in rows.pop(t, [])]) for t in TARGETS]
        states, results = advance(objects, states, EpochInput(epoch.now, rows, dml))
        shown = [c.name for c in by_name["t_full"].schema if not is_hidden(c.name)]
        out.append({
            t: Counter((k.value, tuple(row[c] for c in shown)) for k, row in results[t].changes)
            for t in TARGETS
        })  # fmt: skip
    return out


def _check(seed: int, cuts: Sequence[Sequence[int]], sessions: Sessions, root: Path) -> None:
    epochs = _epochs(seed)
    for cut in cuts:
        starts = [sum(cut[:i]) for i in range(len(cut))]
        parts = [_joined(epochs[at : at + size]) for at, size in zip(starts, cut, strict=True)]
        program = _program(parts)
        expected = _by_reference(program)
        case = Case(program, "", root / f"in{len(cut)}")
        run = run_all([case], root / f"w{len(cut)}{cut[0]}", sessions)
        outcome = run.outcome()
        assert not outcome.broken
        for number, wanted in enumerate(expected, 1):
            for table in TARGETS:
                changes = outcome.found[table].changes.get(number, [])
                found = Counter((kind.value, values) for kind, values in changes)
                surplus, missing = found - wanted[table], wanted[table] - found
                assert not surplus and not missing, (cut, number, table)


def test_tables_are_as_the_reference_merges_them(sessions: Sessions, tmp_path: Path) -> None:
    _check(1, [(1, 1, 1)], sessions, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 12))
def test_tables_are_as_the_reference_merges_them_however_cut(
    sessions: Sessions, tmp_path: Path, seed: int
) -> None:
    _check(seed, [(1, 1, 1), (2, 1), (1, 2), (3,)], sessions, tmp_path)
