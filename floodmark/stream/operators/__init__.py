"""The operators of a streaming plan, a file each: all that is known of one is in its file."""

from __future__ import annotations

from typing import Any

from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.top_n import StreamTopN

OPERATORS: tuple[type[StreamOperator[Any]], ...] = (StreamTopN,)
"""The operators by which nodes run, each for one node."""
