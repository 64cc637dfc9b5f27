"""What the clauses of a query need of its builder."""

from __future__ import annotations

from dataclasses import dataclass

from floodmark.plan.bind.scope import QueryScope
from floodmark.plan.nodes import Node


@dataclass(frozen=True, slots=True)
class Bound:
    """A node and the names by which the query reaches its columns."""

    node: Node
    scope: QueryScope
