"""All relational nodes of a logical plan, a family a file; an invalid node cannot be constructed.

A node is a value with a schema whose column names are unique. Expressions name columns of the
node's input (for a join: of either side, whose names are disjoint). Hidden columns start with
`__`. Properties such as the stream key are derived in `floodmark.stream`.
"""

from __future__ import annotations

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

NODE_CLASSES: tuple[type[Node], ...] = (
    Scan, Values, Project, Filter, UnionAll, Join, LookupJoin, Aggregate, Tumble, Hop, Session,
    TopN, OverWindow, SetOperation, ProjectSet, GrowingSeries, TemporalFilter,
    MaterializeProject, SortBuffer, CloseAggregate, CloseSession,
)  # fmt: skip

__all__ = [
    "NODE_CLASSES", "Aggregate", "CloseAggregate", "CloseSession", "Filter", "GrowingSeries",
    "Hop", "Interval", "Join", "JoinKind", "LookupJoin", "MaterializeProject", "Node",
    "OrderedNode", "OverWindow", "Pairing", "PassedColumns", "Project", "ProjectSet", "Scan",
    "Session",
    "SetKind", "SetOperation", "SortBuffer", "SortKey", "TemporalFilter", "TopN", "Tumble", "Unary",
    "UnionAll", "Values", "WatermarkColumn", "WindowCall", "is_lookup", "scans", "walk",
]  # fmt: skip
