"""All relational nodes of a logical plan, a family a file; an invalid node cannot be constructed.

A node is a value with a schema whose column names are unique. Expressions name columns of the
node's input (for a join: of either side, whose names are disjoint). Hidden columns start with
`__`. Properties such as the stream key are derived in `floodmark.stream`.
"""

from __future__ import annotations

from typing import get_args

from floodmark.plan.expr.window_values import Interval, SortKey, WindowCall
from floodmark.plan.nodes.aggregates import Aggregate, CloseAggregate
from floodmark.plan.nodes.base import Node, PassedColumns, Unary, walk
from floodmark.plan.nodes.joins import Join, JoinKind, LookupJoin, Pairing, is_lookup
from floodmark.plan.nodes.ordered import OrderedNode, OverWindow, SortBuffer, TopN
from floodmark.plan.nodes.row_local import (
    Filter,
    GrowingSeries,
    MaterializeProject,
    Project,
    ProjectSet,
    TemporalFilter,
)
from floodmark.plan.nodes.sets import SetKind, SetOperation, UnionAll
from floodmark.plan.nodes.sources import Scan, Values, WatermarkColumn, scans
from floodmark.plan.nodes.windows import CloseSession, Hop, Session, Tumble

ComputedNode = (
    Values
    | Project
    | Filter
    | TemporalFilter
    | ProjectSet
    | GrowingSeries
    | Tumble
    | Hop
    | Session
    | CloseSession
    | UnionAll
    | Join
    | LookupJoin
    | SetOperation
    | TopN
    | Aggregate
    | CloseAggregate
    | OverWindow
)
"""The nodes whose rows can be computed again from those of their inputs."""
StoredNode = Scan | MaterializeProject | SortBuffer
"""The nodes whose rows are read where they are stored: objects, and what passes make."""
NODE_CLASSES: tuple[type[Node], ...] = (*get_args(ComputedNode), *get_args(StoredNode))

__all__ = [
    "NODE_CLASSES", "Aggregate", "CloseAggregate", "CloseSession", "ComputedNode", "Filter",
    "GrowingSeries", "Hop", "Interval", "Join", "JoinKind", "LookupJoin", "MaterializeProject",
    "Node", "OrderedNode", "OverWindow", "Pairing", "PassedColumns", "Project", "ProjectSet",
    "Scan", "Session", "SetKind", "SetOperation", "SortBuffer", "SortKey", "StoredNode",
    "TemporalFilter", "TopN", "Tumble", "Unary", "UnionAll", "Values", "WatermarkColumn",
    "WindowCall", "is_lookup", "scans", "walk",
]  # fmt: skip
