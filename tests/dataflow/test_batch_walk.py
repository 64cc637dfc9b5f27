"""Which rows of a plan's leaves are asked for: within bounds, and of which files."""

from __future__ import annotations

from typing import Any

from floodmark.changelog import ChangelogMode
from floodmark.dataflow import batch
from floodmark.dataflow.key_sets import KeySets
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef
from floodmark.scalar.types import BIGINT, Field
from floodmark.storage.table import DataFile
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.lower import lower
from floodmark.stream.properties.bounds import Bounds
from floodmark.tables.bounds import FileFilter

NO_SPARK: Any = None
WITHIN = {"x": (5, 6)}


def _objects(name: str) -> n.Scan:
    columns = tuple(Field(c, BIGINT, nullable=False) for c in ("id", "k", "v"))
    return n.Scan(name, columns, ("id",), ChangelogMode.APPEND_ONLY)


def _named_x(node: n.Node, column: str, *passed: str) -> n.Project:
    named = (("x", column), *((c, c) for c in passed))
    return n.Project(node, tuple((name, ColumnRef(BIGINT, c)) for name, c in named))


def _part(low: int, high: int) -> DataFile:
    return DataFile("f", 1, 10, {"k": low, "v": 0}, {"k": high, "v": 0}, {"k": 0, "v": 0})


def _asked(root: n.Node) -> tuple[list[tuple[str, Bounds, FileFilter | None]], list[n.Node]]:
    """Return what is asked of the scans, and of which nodes the rows are finished."""
    scanned: list[tuple[str, Bounds, FileFilter | None]] = []
    finished: list[n.Node] = []

    def leaf(
        op: StreamOperator[Any], within: Bounds, keeps: FileFilter | None, keys: KeySets
    ) -> batch.Leaf | None:
        if not isinstance(op.node, n.Scan):
            return None
        scanned.append((op.node.object, within, keeps))
        return batch.Leaf(None)

    def finish(op: StreamOperator[Any], rows: Any) -> Any:
        finished.append(op.node)
        return rows

    rows = batch.rows_in_bounds(lower(root).top, WITHIN, leaf, NO_SPARK, 0, finish)
    assert rows is None
    return scanned, finished


def test_files_are_chosen_through_row_local_nodes() -> None:
    root = _named_x(_objects("s"), "k", "id")
    ((name, within, keeps),), finished = _asked(root)
    assert (name, within) == ("s", {"k": (5, 6)})
    assert keeps is not None
    assert keeps(_part(0, 5))
    assert not keeps(_part(7, 9))
    assert finished == [root]


def test_groups_that_are_computed_again_choose_files_by_the_columns_below() -> None:
    below = _named_x(_objects("s"), "v", "id")
    renamed = (("k", ColumnRef(BIGINT, "x")), ("id", ColumnRef(BIGINT, "id")))
    groups = n.Aggregate(n.Project(below, renamed), ("k",), ())
    ((_, within, keeps),), _ = _asked(_named_x(groups, "k"))
    assert within == {"v": (5, 6)}
    assert keeps is not None
    assert not keeps(_part(5, 6))  # `k` is of the groups; the file has other values of `v`.


def test_branches_of_a_union_are_chosen_each_by_its_own_columns() -> None:
    branches = (_named_x(_objects("a"), "k", "id"), _named_x(_objects("b"), "v", "id"))
    root = n.UnionAll(branches, "ordinal")
    scanned, finished = _asked(root)
    assert [(name, within) for name, within, _ in scanned] == [
        ("a", {"k": (5, 6)}),
        ("b", {"v": (5, 6)}),
    ]
    assert finished == [*branches, root]
