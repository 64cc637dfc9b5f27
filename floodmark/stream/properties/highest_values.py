"""The highest values that columns of rows can have, from those of the objects that are scanned."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.functions.comparison import order_key
from floodmark.scalar.time_windows import align, shift_clamped
from floodmark.stream.properties.monotonicity import monotone_columns
from floodmark.stream.properties.watermark_values import Values


def highest(node: n.Node, scanned: Mapping[str, Values], now: datetime) -> Values:
    """Return what no value of a column is above, where that is known.

    Args:
        node: the plan.
        scanned: by object, the highest values of its columns with a watermark.
        now: the time of the epoch.
    """
    inputs = [highest(child, scanned, now) for child in node.inputs]
    match node:
        case n.Scan():
            known = scanned.get(node.object, {})
            return {w.column: known[w.column] for w in node.watermarks if w.column in known}
        case n.Project() | n.MaterializeProject():
            found = ((name, _highest_value(expr, inputs[0], now)) for name, expr in node.columns)
            return {name: value for name, value in found if value is not None}
        case n.Tumble() | n.Hop() if node.time in inputs[0]:
            step = node.slide if isinstance(node, n.Hop) else node.size
            start = align(inputs[0][node.time], step, node.offset)
            return {**inputs[0], node.start: start, node.end: shift_clamped(start, node.size)}
        case n.Session() if node.time in inputs[0]:
            return {**inputs[0], node.end: shift_clamped(inputs[0][node.time], node.gap)}
        case n.OverWindow() if node.closes is not None and node.order[0].column in inputs[0]:
            return {**inputs[0], node.closes: inputs[0][node.order[0].column]}
        case n.UnionAll():
            return _union(node, inputs)
        case _:
            both = {column: value for values in inputs for column, value in values.items()}
            return {column: value for column, value in both.items() if column in node.names}


def _highest_value(expr: Expr, values: Values, now: datetime) -> Any:
    columns = monotone_columns(expr)
    nothing = dict.fromkeys(columns)
    known = sorted(columns & values.keys())
    found = [evaluate(expr, {**nothing, c: values[c]}, now) for c in known]
    reached = [value for value, error in found if error is None and value is not None]
    return max(reached, key=partial(order_key, type_=expr.type)) if reached else None


def _union(node: n.UnionAll, inputs: list[Values]) -> Values:
    out: dict[str, Any] = {}
    for position, (name, type_) in enumerate((f.name, f.type) for f in node.branches[0].schema):
        names = (branch.names[position] for branch in node.branches)
        found = [values.get(column) for values, column in zip(inputs, names, strict=True)]
        present = [value for value in found if value is not None]
        if present:
            out[name] = max(present, key=partial(order_key, type_=type_))
    return out
