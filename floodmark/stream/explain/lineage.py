"""Column lineage: which columns of which objects a column's values come from."""

from __future__ import annotations

from typing import Any

from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.properties.lineage import Lineage


def column_lineage(operator: StreamOperator[Any]) -> Lineage:
    """Return the origins of each output column; a constant has none."""
    return operator.column_origins([column_lineage(below) for below in operator.inputs])
