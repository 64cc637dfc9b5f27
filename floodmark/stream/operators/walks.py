"""Walks over a whole plan, inputs first: stream keys, and the watermarks of an epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from floodmark.plan import nodes as n
from floodmark.stream.operators import OPERATORS, Operator
from floodmark.stream.operators.base import Key, StreamOperator, WatermarkValues
from floodmark.stream.operators.scan import StreamScan

CLASSES: dict[type[n.Node], type[Operator]] = {operator.NODE: operator for operator in OPERATORS}
"""The operator of each node."""
KnownValues = dict[n.Node, WatermarkValues]
"""Values by column, of the operators that were asked already."""


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
    operator: StreamOperator[Any],
    scanned: Mapping[str, WatermarkValues],
    now: datetime,
    known: KnownValues | None = None,
) -> WatermarkValues:
    """Return the watermarks of an output from those of the objects that are scanned.

    `known` are those of operators at the same values and time; it takes what is worked out.
    """
    return _propagate(operator, scanned, lambda op, below: op.propagate(below, now), known)


def propagate_highest(
    operator: StreamOperator[Any],
    scanned: Mapping[str, WatermarkValues],
    now: datetime,
    known: KnownValues | None = None,
) -> WatermarkValues:
    """Return what no value of a column is above, from that of the objects that are scanned."""
    return _propagate(operator, scanned, lambda op, below: op.propagate_highest(below, now), known)


def _propagate(
    operator: StreamOperator[Any],
    scanned: Mapping[str, WatermarkValues],
    rule: Callable[[StreamOperator[Any], Sequence[WatermarkValues]], WatermarkValues],
    known: KnownValues | None,
) -> WatermarkValues:
    """Return what a rule makes of the values of scanned objects, asking each operator once."""
    known = {} if known is None else known

    def values_of(op: StreamOperator[Any]) -> WatermarkValues:
        if op.node not in known:
            scans = isinstance(op, StreamScan)
            below = [scanned.get(op.node.object, {})] if scans else [*map(values_of, op.inputs)]
            known[op.node] = rule(op, below)
        return known[op.node]

    return values_of(operator)
