"""The operators of a streaming plan, a file each: all that is known of one is in its file.

What several share is in their family, an abstract class in a file of its own:

- `Linear`, to which each row contributes by itself: Scan, Values, UnionAll, and the families
  `Projection` (Project, MaterializeProject) and `PassThrough`. The latter passes the columns of its
  input on: `Selection` (Filter, TemporalFilter, SortBuffer), `Repetition` (ProjectSet,
  GrowingSeries), `FixedWindow` (Tumble, Hop).
- `StreamGrouping`, one row per group: Aggregate, CloseAggregate.
- `StreamPairing`, pairs of rows: Join, LookupJoin.
- `SessionWindow`: Session, CloseSession.

TopN, OverWindow and SetOperation have no family.
"""

from __future__ import annotations

from typing import get_args

from floodmark.stream.operators.aggregate import StreamAggregate
from floodmark.stream.operators.close_aggregate import StreamCloseAggregate
from floodmark.stream.operators.close_session import StreamCloseSession
from floodmark.stream.operators.filter import StreamFilter
from floodmark.stream.operators.growing_series import StreamGrowingSeries
from floodmark.stream.operators.hop import StreamHop
from floodmark.stream.operators.join import StreamJoin
from floodmark.stream.operators.lookup_join import StreamLookupJoin
from floodmark.stream.operators.materialize_project import StreamMaterializeProject
from floodmark.stream.operators.over_window import StreamOverWindow
from floodmark.stream.operators.project import StreamProject
from floodmark.stream.operators.project_set import StreamProjectSet
from floodmark.stream.operators.scan import StreamScan
from floodmark.stream.operators.session import StreamSession
from floodmark.stream.operators.set_operation import StreamSetOperation
from floodmark.stream.operators.sort_buffer import StreamSortBuffer
from floodmark.stream.operators.temporal_filter import StreamTemporalFilter
from floodmark.stream.operators.top_n import StreamTopN
from floodmark.stream.operators.tumble import StreamTumble
from floodmark.stream.operators.union_all import StreamUnionAll
from floodmark.stream.operators.values import StreamValues

Operator = (
    StreamScan
    | StreamValues
    | StreamProject
    | StreamMaterializeProject
    | StreamFilter
    | StreamTemporalFilter
    | StreamProjectSet
    | StreamGrowingSeries
    | StreamTumble
    | StreamHop
    | StreamUnionAll
    | StreamSortBuffer
    | StreamJoin
    | StreamLookupJoin
    | StreamSetOperation
    | StreamTopN
    | StreamAggregate
    | StreamCloseAggregate
    | StreamOverWindow
    | StreamSession
    | StreamCloseSession
)
"""The operators by which nodes run, each for one node."""
OPERATORS: tuple[type[Operator], ...] = get_args(Operator)

__all__ = [
    "OPERATORS", "Operator", "StreamAggregate", "StreamCloseAggregate", "StreamCloseSession",
    "StreamFilter", "StreamGrowingSeries", "StreamHop", "StreamJoin", "StreamLookupJoin",
    "StreamMaterializeProject", "StreamOverWindow", "StreamProject", "StreamProjectSet",
    "StreamScan", "StreamSession", "StreamSetOperation", "StreamSortBuffer",
    "StreamTemporalFilter", "StreamTopN", "StreamTumble", "StreamUnionAll", "StreamValues",
]  # fmt: skip
