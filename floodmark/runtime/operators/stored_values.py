"""What operators evaluate once: stored by the input's stream key, taken back as it was given out.

A fresh row takes the place of what is stored for its key; an old row finds there what it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from floodmark.plan import nodes as n
from floodmark.runtime.operators.materialize import cancelled
from floodmark.runtime.operators.unneeded import Unneeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from floodmark.runtime.bounds import Bounds
    from floodmark.runtime.evaluation import Evaluation


class StoredValues(Protocol):
    """The state table of one operator in one epoch: key, stored columns, error, epoch."""

    @property
    def epoch(self) -> int:
        """Return the epoch that is being advanced."""

    def before(self, within: Bounds) -> DataFrame | None:
        """Return what was stored before, at least of the keys within bounds; None for nothing."""

    def keep(
        self, fresh: Callable[[], DataFrame], gone: Gone, over: Unneeded | None
    ) -> DataFrame | None:
        """Store the fresh rows in place of those of the gone keys; return them read back.

        Of the others those that are `over` go, too. An epoch that is recorded keeps what it
        recorded.
        """

    def once(self, fresh: Callable[[], DataFrame]) -> DataFrame | None:
        """Store the fresh rows in place of all others; return them, or what is recorded."""


@dataclass(frozen=True)
class Gone:
    """Rows whose keys are stored anew or not at all: few of them or not, all within bounds."""

    rows: DataFrame
    key: tuple[str, ...]
    few: bool
    within: Bounds


def gone(node: n.Node, changes: DataFrame, around: Evaluation) -> Gone:
    """Return what leaves the state with the changes of an input."""
    key = around.plan[node].stream_key
    lie = around.bounds(node)
    return Gone(changes, key, around.inputs.few, {c: lie[c] for c in key if c in lie})


def consolidated(node: n.Node, around: Evaluation) -> DataFrame | None:
    """Return the changes of an input, with no old row that its new one equals.

    A change of columns that a projection drops is none: nothing is evaluated again for it.
    """
    rows, settled = around.delta(node), around.settled(node)
    if rows is None or settled is None:
        return None
    if rows.inserts or (rows.consolidated and _is_whole(node)):
        return settled
    return cancelled(settled, node.schema, around.plan[node].stream_key)


def over(node: n.Node, cleaned_by: str | None, around: Evaluation) -> Unneeded | None:
    """Return below what nothing that is stored for an input's row changes any more."""
    if cleaned_by is None:
        return None
    reached = around.inputs.watermark(node, cleaned_by, before=False)
    return None if reached is None else Unneeded(cleaned_by, reached)


def _is_whole(node: n.Node) -> bool:
    """Tell whether no column of an object is dropped between it and here."""
    match node:
        case n.Project():
            return set(node.passed) == set(node.input.names) and _is_whole(node.input)
        case n.Filter():
            return _is_whole(node.input)
        case _:
            return True
