"""The check, top-down: which columns must be deterministic, and whether they are.

A requirement on an input leaves out the columns of its upsert keys, because these do not change
when a row is updated. A requirement that reaches an append-only input ends there. What an operator
requires of its inputs, it says itself (`StreamOperator.check_determinism`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from floodmark.plan import nodes as n
from floodmark.stream.ndu.violations import Violation
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.properties.determinism_check import NONE, Cause, Columns, DeterminismCheck
from floodmark.stream.properties.key_sets import Keys


@dataclass
class Check(DeterminismCheck):
    """One walk over a plan; `violations` and `lookups`, those to store, are what it results in."""

    plan: StreamPlan
    strict: bool
    own_table_nodes: frozenset[n.Node] = frozenset()
    violations: list[Violation] = field(default_factory=list)
    lookups: list[n.Node] = field(default_factory=list)
    changes_pass: bool = True

    def hand(self, node: n.Node, required: Iterable[str], needed: Iterable[str]) -> None:
        names = frozenset(node.names)
        wanted = frozenset(needed) & names
        rest = frozenset(required) & names
        if self.appends(node):
            rest = NONE
        self._visit(node, _without_key(rest, self.keys(node, wanted)), wanted)

    def appends(self, node: n.Node) -> bool:
        known = self.plan[node]
        return known.append_only if self.strict else known.insert_only

    def keys(self, node: n.Node, needed: Columns) -> Keys:
        if self.strict:
            return self.plan[node].unique_keys
        return tuple(key for key in self.plan[node].upsert_keys if key <= needed)

    def check_lookup(self, node: n.Node, needed: Columns) -> None:
        followed, self.changes_pass = self.changes_pass, False
        self._visit(node, NONE, needed)
        self.changes_pass = followed

    def report(
        self, cause: Cause, node: n.Node, columns: Iterable[str], functions: Iterable[str]
    ) -> None:
        violation = Violation(cause, node, tuple(columns), tuple(functions))
        if violation not in self.violations:
            self.violations.append(violation)

    def store(self, node: n.Node) -> None:
        self.lookups.append(node)

    def _visit(self, node: n.Node, required: Columns, needed: Columns) -> None:
        self.plan[node].check_determinism(required, needed, self)


def _without_key(required: Columns, keys: Keys) -> Columns:
    """Return the required columns beyond the best key, whose columns are deterministic."""
    if any(required <= key for key in keys):
        return NONE
    return min((required - key for key in keys), key=len, default=required)
