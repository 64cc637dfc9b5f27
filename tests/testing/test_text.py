"""The text form of programs."""

from __future__ import annotations

from decimal import Decimal

import pytest

from floodmark.changelog import RowKind
from floodmark.testing.program import ProgramError, parse
from floodmark.testing.text import Line, mismatch

SQL = "sql: CREATE TABLE t (k INT PRIMARY KEY, a INT);\n"
INSERT, BEFORE, AFTER = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER


def test_rows_below_belong_to_the_label_above_them() -> None:
    text = SQL + (
        "epoch 1   t:  -U 5 3      v:  +I 5 6     -- a comment\n"
        "              +U 5 6          +I 7 NULL\n"
    )
    (epoch,) = parse(text, "p").epochs
    assert epoch.inputs == {"t": (Line(BEFORE, ("5", "3")), Line(AFTER, ("5", "6")))}
    assert epoch.expected == {"v": (Line(INSERT, ("5", "6")), Line(INSERT, ("7", None)))}


def test_labels_on_lines_of_their_own() -> None:
    text = SQL + "epoch 1\n  t/1: +I 1 'a: -- b'\n  late t: +I 2 3\n  out t:\n"
    (epoch,) = parse(text, "p").epochs
    assert epoch.inputs == {"t": (Line(INSERT, ("1", "a: -- b"), "1"),)}
    assert epoch.expected == {"late t": (Line(INSERT, ("2", "3")),), "t": ()}


def test_statements_reach_to_the_end_and_go_on() -> None:
    text = SQL + "epoch 1  dml: INSERT INTO t\n         VALUES (1, '2'::int);\n"
    assert parse(text, "p").epochs[0].dml == ("INSERT INTO t VALUES (1, '2'::int);",)


def test_now_is_the_minute_unless_given() -> None:
    program = parse(SQL + "epoch 3\nepoch 4 at 10:00\n", "p")
    assert [e.now.isoformat()[11:19] for e in program.epochs] == ["00:03:00", "10:00:00"]


@pytest.mark.parametrize("text", ["epoch 1", SQL + "epoch 1\n  +I 1", SQL + "epoch 1 t: 5 +I 1"])
def test_what_is_no_program_is_refused(text: str) -> None:
    with pytest.raises(ProgramError):
        parse(text, "p")


def test_changelogs_differ_as_sets_and_by_value() -> None:
    one, two = (INSERT, (1, Decimal("1.50"))), (INSERT, (2, None))
    assert mismatch("v", [one, two], [two, (INSERT, (1, Decimal("1.5")))]) is None
    assert mismatch("v", [one], [one, one]) is not None
    assert mismatch("v", [two], [(INSERT, (2, 0))]) is not None
