"""The operators of a streaming plan, a file each: all that is known of one is in its file."""

from __future__ import annotations

from typing import Any

from floodmark.stream.operators.aggregate import StreamAggregate
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.close_aggregate import StreamCloseAggregate
from floodmark.stream.operators.close_session import StreamCloseSession
from floodmark.stream.operators.join import StreamJoin
from floodmark.stream.operators.lookup_join import StreamLookupJoin
from floodmark.stream.operators.over_window import StreamOverWindow
from floodmark.stream.operators.session import StreamSession
from floodmark.stream.operators.set_operation import StreamSetOperation
from floodmark.stream.operators.top_n import StreamTopN

OPERATORS: tuple[type[StreamOperator[Any]], ...] = (
    StreamJoin,
    StreamLookupJoin,
    StreamSetOperation,
    StreamTopN,
    StreamAggregate,
    StreamCloseAggregate,
    StreamOverWindow,
    StreamSession,
    StreamCloseSession,
)
"""The operators by which nodes run, each for one node."""
