"""Walks over a whole plan, inputs first: stream keys, and the watermarks of an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from floodmark.plan import nodes as n
from floodmark.stream.operators import OPERATORS, Operator
from floodmark.stream.operators.base import Key, StreamOperator, WatermarkValues
from floodmark.stream.operators.scan import StreamScan

CLASSES: dict[type[n.Node], type[Operator]] = {operator.NODE: operator for operator in OPERATORS}
"""The operator of each node."""


def class_of(node: n.Node) -> type[Operator]:
    """Return the class of a node's operator."""
    found = CLASSES.get(type(node))
    assert found is not None, f"{type(node).__name__} has no operator in a streaming plan"
    return found


def key_of(node: n.Node, keys: tuple[Key, ...]) -> Key:
    """Return the stream key of a node's output from the keys of its inputs."""
    operator: type[StreamOperator[Any]] = class_of(node)
    return operator.key_of(node, keys)


def stream_key(node: n.Node) -> Key:
    """Return the stream key of a node's output; the plan must keep its key columns."""
    return key_of(node, tuple(map(stream_key, node.inputs)))


def propagate(
    operator: StreamOperator[Any], scanned: Mapping[str, WatermarkValues], now: datetime
) -> WatermarkValues:
    """Return the watermarks of an output from those of the objects that are scanned."""
    if isinstance(operator, StreamScan):
        return operator.propagate([scanned.get(operator.node.object, {})], now)
    return operator.propagate([propagate(i, scanned, now) for i in operator.inputs], now)


def propagate_highest(
    operator: StreamOperator[Any], scanned: Mapping[str, WatermarkValues], now: datetime
) -> WatermarkValues:
    """Return what no value of a column is above, from that of the objects that are scanned."""
    if isinstance(operator, StreamScan):
        return operator.propagate_highest([scanned.get(operator.node.object, {})], now)
    below = [propagate_highest(i, scanned, now) for i in operator.inputs]
    return operator.propagate_highest(below, now)
