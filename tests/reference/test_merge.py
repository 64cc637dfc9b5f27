"""The merge function of keyed tables: every conflict behaviour, one key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from floodmark.changelog import RowKind
from floodmark.plan.declare.conflicts import EXCLUDED
from floodmark.plan.expr.expressions import Call, ColumnRef, Literal
from floodmark.reference.changes import Change
from floodmark.reference.rows import Row
from floodmark.reference.tables import MergeRules, RefusedRow, merge, rekey, sink_changes_by_key
from floodmark.scalar.types import BOOLEAN, INT
from floodmark.sql.statements import ConflictAction

NOW = datetime(2024, 1, 1, tzinfo=UTC)
INSERT, BEFORE, AFTER, DELETE = (
    RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE,
)  # fmt: skip


def row(k: int, a: Any = None, b: Any = None) -> Row:
    return {"k": k, "a": a, "b": b}


def merged(rules: MergeRules, *changes: Change) -> tuple[Row | None, int, list[RefusedRow]]:
    rows, ignored, refused = merge({(1,): row(1, 10, 20)}, changes, rules, NOW)
    return rows.get((1,)), ignored, refused


def test_full_replaces() -> None:
    assert merged(MergeRules(("k",)), (INSERT, row(1, 11))) == (row(1, 11), 0, [])


def test_a_row_that_changes_nothing_is_ignored() -> None:
    assert merged(MergeRules(("k",)), (AFTER, row(1, 10, 20))) == (row(1, 10, 20), 1, [])


def test_delete_removes_under_every_behaviour() -> None:
    for action in ConflictAction:
        assert merged(MergeRules(("k",), action), (DELETE, row(1))) == (None, 0, [])


def test_nothing_keeps_the_first() -> None:
    rules = MergeRules(("k",), ConflictAction.DO_NOTHING)
    assert merged(rules, (INSERT, row(1, 11)), (AFTER, row(1, 12))) == (row(1, 10, 20), 2, [])
    assert merged(rules, (DELETE, row(1)), (INSERT, row(1, 11))) == (row(1, 11), 0, [])


def test_if_not_null_sets_what_is_there() -> None:
    rules = MergeRules(("k",), ConflictAction.UPDATE_IF_NOT_NULL)
    assert merged(rules, (INSERT, row(1, None, 21))) == (row(1, 10, 21), 0, [])


def test_versions_lower_is_ignored_and_equal_overwrites() -> None:
    rules = MergeRules(("k",), version_columns=("a",))
    assert merged(rules, (INSERT, row(1, 9, 0)))[:2] == (row(1, 10, 20), 1)
    assert merged(rules, (INSERT, row(1, 10, 0)))[0] == row(1, 10, 0)
    assert merged(rules, (INSERT, row(1, None, 0)))[0] == row(1, 10, 20)
    assert merged(rules, (DELETE, row(1, 9)))[0] is None


def test_set_sees_the_stored_and_the_incoming_row() -> None:
    stored, incoming = ColumnRef(INT, "a"), ColumnRef(INT, EXCLUDED + "a")
    total = Call(INT, "+", (stored, incoming))
    positive = Call(BOOLEAN, ">", (incoming, Literal(INT, 0)))
    rules = MergeRules(
        ("k",), ConflictAction.UPDATE_SET, assignments=(("a", total),), condition=positive
    )
    assert merged(rules, (INSERT, row(1, 5)))[0] == row(1, 15, 20)
    assert merged(rules, (INSERT, row(1, -5)))[:2] == (row(1, 10, 20), 1)
    kept, _, refused = merged(rules, (INSERT, row(1, 2**31 - 1)))
    assert kept == row(1, 10, 20) and [r.code for r in refused] == [622]


def test_rekey_splits_updates_that_move() -> None:
    changes = [(BEFORE, row(1, 5)), (AFTER, row(1, 6)), (BEFORE, row(2, 6)), (AFTER, row(2, 6, 1))]
    assert rekey(changes, ("a",)) == [
        (DELETE, row(1, 5)), (INSERT, row(1, 6)), (AFTER, row(2, 6, 1)),
    ]  # fmt: skip


def test_a_delete_whose_key_is_written_again_is_none() -> None:
    changes = [(INSERT, row(1, 5)), (DELETE, row(2, 5)), (DELETE, row(3, 6))]
    assert sink_changes_by_key([changes], ("a",)) == [[(INSERT, row(1, 5)), (DELETE, row(3, 6))]]


def test_a_key_that_moves_from_one_sink_to_another_is_kept() -> None:
    assert sink_changes_by_key([[(INSERT, row(1, 5))], [(DELETE, row(2, 5))]], ("a",)) == [
        [(INSERT, row(1, 5))], [],
    ]  # fmt: skip
