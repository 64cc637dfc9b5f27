"""The check of non-deterministic updates, as an operator sees it.

The check walks a plan from its root. Each operator is told which columns of its output must be
deterministic, and hands on which columns of its inputs must be.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import Enum

from floodmark.plan import nodes as n
from floodmark.stream.properties.key_sets import Keys

Columns = frozenset[str]
NONE: Columns = frozenset()


class Cause(Enum):
    """The three classes of non-deterministic updates that cannot be repaired."""

    FUNCTION = "a column is computed by a non-deterministic function"
    CONDITION = "a condition calls a non-deterministic function"
    METADATA = "a metadata column differs between messages about one row"


class DeterminismCheck(ABC):
    """The interface between operators and the determinism check.

    The rules of operators are Flink's; `strict` adds what Flink leaves open (conditions, join keys,
    arguments) and takes the engine's own unique keys. `changes_pass`: changes of what is visited
    reach the operators above; those of what is looked up do not. `own_table_nodes` are lookups
    whose rows the owner's table can take back.
    """

    strict: bool
    changes_pass: bool
    own_table_nodes: frozenset[n.Node]

    @abstractmethod
    def appends(self, node: n.Node) -> bool:
        """Tell whether no row of a node's output is ever retracted."""

    @abstractmethod
    def keys(self, node: n.Node, needed: Columns) -> Keys:
        """Return the keys to use; for Flink, only those of columns that are not pruned."""

    @abstractmethod
    def hand(self, node: n.Node, required: Iterable[str], needed: Iterable[str]) -> None:
        """Pass a requirement to an input: `needed` are the columns that operators above read."""

    @abstractmethod
    def check_lookup(self, node: n.Node, needed: Columns) -> None:
        """Visit an input whose changes do not reach the operators above."""

    @abstractmethod
    def report(
        self, cause: Cause, node: n.Node, columns: Iterable[str], functions: Iterable[str]
    ) -> None:
        """Note an expression that is not deterministic and must be."""

    @abstractmethod
    def store(self, node: n.Node) -> None:
        """Note a lookup whose rows must be stored."""

    def also(self, columns: Iterable[str]) -> Columns:
        """Return what the strict check requires in addition."""
        return frozenset(columns) if self.strict else NONE
