"""OverWindow: window functions, recomputed for the rows that see a change, or whole partitions.

Ties are broken by the input's stream key, so that every function has one value; RANGE and GROUPS
frames see peers as equal all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.groups import accumulators as acc
from floodmark.dataflow.partitions import affected_frames, frames, recompute_partitions
from floodmark.dataflow.partitions.frame_lists import POSITION, entries, print_list_aggregate
from floodmark.dataflow.partitions.frames import PEERS, Key, total_order
from floodmark.dataflow.partitions.recompute_partitions import AFTER
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, Literal
from floodmark.scalar.functions import WINDOWS
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident, spark_type
from floodmark.stream.operators.over_window import StreamOverWindow
from floodmark.stream.properties.aggregate_calls import aggregate_of
from floodmark.stream.properties.reach import Reach, parts_of
from floodmark.stream.properties.strategy import RecomputeRanges

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def delta(op: StreamOverWindow, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of the ranges, or partitions, that the input's changes touch."""
    (below,) = inputs
    node, key = op.node, below.operator.stream_key
    if isinstance(op.strategy, RecomputeRanges) and not ctx.inputs.fills:
        return _recompute_ranges(op, below, op.strategy.reach, ctx)
    own = ctx.stages.own_rows(op)
    if own is not None:
        return recompute_partitions.delta_from_own(
            op, below, lambda f: batch(node, f, ctx.now, key), own, ctx
        )

    def compute(tagged: list[DataFrame]) -> DataFrame:
        return batch(node, tagged[0], ctx.now, key, (AFTER,))

    return recompute_partitions.delta(op, [below], compute, ctx)


def _recompute_ranges(
    op: StreamOverWindow, below: Input, reach: Reach, ctx: EpochContext
) -> Rows | None:
    """Return the changes of the rows that see a change."""
    node, key = op.node, below.operator.stream_key

    def narrow(rows: DataFrame) -> DataFrame:
        return affected_frames.rows_of(node, rows, reach, total_order(node, key))

    def compute(tagged: list[DataFrame]) -> DataFrame:
        done = batch(node, tagged[0], ctx.now, key, (AFTER,), (affected_frames.TOUCHED_MARK,))
        return done.where(affected_frames.TOUCHED_MARK)

    near = affected_frames.near(node, reach, below.bounds)
    return recompute_partitions.delta(op, [below], compute, ctx, narrow=narrow, near=near)


def batch(
    node: n.OverWindow, frame: DataFrame, now: int, key: Key, apart: Key = (), passed: Key = ()
) -> DataFrame:
    """Return the rows with their window functions.

    `key` breaks ties, `apart` divides further; it and the columns `passed` are handed on.
    """
    printer = _Printer(node, now, key, apart)
    helpers = printer.helpers()
    if helpers:
        frame = frame.selectExpr("*", *helpers)
    kept = [ident(c) for c in (*node.input.names, *apart, *passed)]
    calls = [
        f"CAST({printer.text(call)} AS {spark_type(call.type)}) AS {ident(name)}"
        for name, call in node.calls
    ]
    return frame.selectExpr(*kept, *calls)


@dataclass(frozen=True)
class _Printer:
    """Prints the calls of one window."""

    node: n.OverWindow
    now: int
    key: Key
    apart: Key

    def helpers(self) -> list[str]:
        """Return the columns that calls need beside the input's."""
        calls = [call for _, call in self.node.calls]
        out = []
        if any(self._needs_position(call) for call in calls):
            order = self._print_over_clause(total_order(self.node, self.key))
            out.append(f"row_number(){order} AS {POSITION}")
        if any(frames.needs_peers(self.node, call) for call in calls):
            ranked = f"dense_rank(){self._print_over_clause(frames.plain_order(self.node))}"
            out.append(f"CAST({ranked} AS BIGINT) AS {PEERS}")
        return out

    def text(self, call: n.WindowCall) -> str:
        """Return the text of a call's value."""
        if call.function in WINDOWS:
            ranked = self._rank(call)
            return self._value_of_frame(call) if ranked is None else ranked
        return self._aggregate(call)

    def _print_over_clause(self, order: str, bounds: str = "") -> str:
        by = ", ".join(ident(c) for c in (*self.node.partition, *self.apart))
        clauses = [f"PARTITION BY {by}" if by else "", f"ORDER BY {order}" if order else "", bounds]
        return f" OVER ({' '.join(filter(None, clauses))})"

    def _rank(self, call: n.WindowCall) -> str | None:
        total, plain = (
            self._print_over_clause(total_order(self.node, self.key)),
            self._print_over_clause(frames.plain_order(self.node)),
        )
        alone = not self.node.order
        match call.function:
            case "row_number":
                return f"row_number(){total}"
            case "rank" | "dense_rank":
                return "1" if alone else f"{call.function}(){plain}"
            case "percent_rank" | "cume_dist":
                constant = "0" if call.function == "percent_rank" else "1"
                return constant if alone else f"{call.function}(){plain}"
            case "ntile":
                return f"ntile({self._value(call, 0)}){total}"
            case "lag" | "lead":
                return self._neighbour(call, total)
            case _:
                return None

    def _value(self, call: n.WindowCall, i: int) -> str:
        return compile_expr(call.args[i], self.now).value

    def _neighbour(self, call: n.WindowCall, over: str) -> str:
        value = self._value(call, 0)
        step = _constant(call, 1) if len(call.args) > 1 else 1
        if step is None:
            return f"CAST(NULL AS {spark_type(call.type)})"
        if step == 0:
            return value
        towards = "lag" if (call.function == "lag") == (step > 0) else "lead"
        rest = f", {self._value(call, 2)}" if len(call.args) > 2 else ""
        nulls = " IGNORE NULLS" if call.ignore_nulls else ""
        return f"{towards}({value}, {abs(step)}{rest}){nulls}{over}"

    def _needs_position(self, call: n.WindowCall) -> bool:
        """Tell whether a call needs to know where the rows of its frame stand."""
        unit, _, _, exclude = parts_of(self.node, call)
        if exclude != "NO OTHERS":
            return call.function not in _FRAMELESS
        if call.function in WINDOWS:
            plain = unit == "ROWS" and call.function != "nth_value"
            return call.function in _VALUES and not plain
        return aggregate_of(_as_aggregate(call)).over_list is not None

    def _print_frame(self, call: n.WindowCall) -> str:
        frame = frames.frame_of(self.node, call)
        return self._print_over_clause(
            total_order(self.node, self.key) if frame.order is None else frame.order, frame.bounds
        )

    def _value_of_frame(self, call: n.WindowCall) -> str:
        """Return first_value, last_value or nth_value."""
        if frames.frame_of(self.node, call).empty:
            return f"CAST(NULL AS {spark_type(call.type)})"
        value, over = self._value(call, 0), self._print_frame(call)
        unit, _, _, exclude = parts_of(self.node, call)
        if exclude == "NO OTHERS" and call.function != "nth_value":
            if unit == "ROWS":
                nulls = " IGNORE NULLS" if call.ignore_nulls else ""
                return f"{call.function}({value}){nulls}{over}"
            place = f"CASE WHEN {value} IS NOT NULL THEN {POSITION} END"
            function = "min_by" if call.function == "first_value" else "max_by"
            return f"{function}({value}, {place if call.ignore_nulls else POSITION}){over}"
        members = entries(exclude, [value], None, over, peers=bool(self.node.order))
        if call.ignore_nulls:
            members = f"filter({members}, e -> e.a0 IS NOT NULL)"
        if call.function == "last_value":
            return f"try_element_at(array_sort({members}), -1).a0"
        nth = _constant(call, 1) if call.function == "nth_value" else 1
        return f"get(array_sort({members}), {nth - 1}).a0"

    def _aggregate(self, call: n.WindowCall) -> str:
        aggregate = _as_aggregate(call)
        function = aggregate_of(aggregate)
        condition = None if call.filter is None else compile_expr(call.filter, self.now).value
        if frames.frame_of(self.node, call).empty:
            nothing = function.python([], tuple(a.type for a in call.args), call.type)
            return "0" if nothing == 0 else "NULL"
        over = self._print_frame(call)
        operands = acc.operands(aggregate, self.now)
        _, _, _, exclude = parts_of(self.node, call)
        if exclude == "NO OTHERS" and function.over_list is None:
            return function.print_over(operands, over, condition)
        texts = [o.sql for o in operands]
        members = entries(exclude, texts, condition, over, peers=bool(self.node.order))
        return print_list_aggregate(function, aggregate, operands, members)


_FRAMELESS = (
    "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead",
)  # fmt: skip
_VALUES = ("first_value", "last_value", "nth_value")


def _constant(call: n.WindowCall, i: int) -> Any:
    argument = call.args[i]
    assert isinstance(argument, Literal), argument
    return argument.value


def _as_aggregate(call: n.WindowCall) -> AggCall:
    return AggCall(call.function, call.args, call.type)
