"""Planted bugs of what emits on window close, and of what cleans its state."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_spark

_FINAL = "tests/property/test_closing_reference.py::test_what_has_closed_is_final_and_all_of_it"
CLOSING = (
    Planted(
        "a session closes when the watermark is at its end",
        "floodmark.dataflow.operators.close_session:delta",
        "sessions.where(f'{end} < {_AFTER}')",
        "sessions.where(f'{end} <= {_AFTER}')",
        on_spark("close_session"),
    ),
    Planted(
        "an open session is forgotten with its first row",
        "floodmark.dataflow.operators.close_session:delta",
        "state.keep(open_.unionAll(above), after, few=few)",
        "state.keep(above, after, few=few)",
        on_spark("close_session"),
    ),
    Planted(
        "a condition on now() is not asked at the release",
        "floodmark.dataflow.operators.sort_buffer:delta",
        "released is None or condition is None",
        "released is not None or condition is None",
        on_spark("close_conditions_on_now"),
    ),
    Planted(
        "a frame that looks ahead in time is final too early",
        "floodmark.stream.operators.over_window:StreamOverWindow.propagate",
        "move_at_least(values[time], -ahead.distance)",
        "move_at_least(values[time], ahead.distance)",
        on_spark("close_over"),
    ),
    Planted(
        "lead waits for nothing",
        "floodmark.stream.properties.look_ahead:_neighbour",
        "step if (call.function == 'lead') != descending else -step",
        "step if (call.function == 'lag') != descending else -step",
        (f"{_FINAL}[rows ahead]",),
    ),
    Planted(
        "of the rows that a frame looks ahead to only one is waited for",
        "floodmark.stream.passes.close.over:_last_seen_call",
        "(time, Literal(INT, ahead.rows))",
        "(time, Literal(INT, 1))",
        (f"{_FINAL}[rows around]", f"{_FINAL}[rows ahead]"),
    ),
    Planted(
        "a session's start carries the watermark, too",
        "floodmark.stream.operators.session_window:SessionWindow.derive_watermarks",
        "(n.WatermarkColumn(node.end, w.group) for w in own)",
        "(n.WatermarkColumn(c, w.group) for w in own for c in (node.start, node.end))",
        (f"{_FINAL}[sessions]", "tests/golden/test_golden_plans.py"),
    ),
    Planted(
        "rows go that a frame still looks back to",
        "floodmark.stream.operators.over_window:StreamOverWindow._by_frames",
        "-(reach.back + reach.ahead)",
        "-reach.ahead",
        on_spark("close_state_goes"),
    ),
    Planted(
        "a row goes at the bound",
        "floodmark.dataflow.state.arrangement:Arrangement._expired_files",
        "f.high[column] < bound",
        "f.high[column] <= bound",
        on_spark("close_state_goes"),
    ),
    Planted(
        "a row of a join goes by its own side's watermark alone",
        "floodmark.stream.properties.cleaning:_apart",
        "((far.column, Decimal(0)), (far.other, far.by))",
        "((far.column, Decimal(0)),)",
        on_spark("close_state_goes"),
    ),
    Planted(
        "one row too few of a partition stays",
        "floodmark.dataflow.partitions.frames:last_rows",
        "f'__last - __place < {last}'",
        "f'__last - __place < {last - 1}'",
        ("tests/dataflow/test_bounded_state.py::test_state_is_what_is_open[daily]",),
    ),
    Planted(
        "rows come before the time of all of them has",
        "floodmark.stream.operators.temporal_filter:_first_to_come",
        "own - low * unit if low else own",
        "own",
        on_spark("close_conditions_on_now"),
    ),
)
