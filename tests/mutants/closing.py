"""Planted bugs of what emits on window close, and of what cleans its state."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_spark

_FINAL = "tests/property/test_closing_reference.py::test_what_has_closed_is_final_and_all_of_it"
CLOSING = (
    Planted(
        "a session closes when the watermark is at its end",
        "dataflow/operators/close_session.py",
        'released = sessions.where(f"{end} < {_AFTER}")',
        'released = sessions.where(f"{end} <= {_AFTER}")',
        on_spark("close_session"),
    ),
    Planted(
        "an open session is forgotten with its first row",
        "dataflow/operators/close_session.py",
        "state.keep(open_.unionAll(above), after, few=few)",
        "state.keep(above, after, few=few)",
        on_spark("close_session"),
    ),
    Planted(
        "a condition on now() is not asked at the release",
        "dataflow/operators/sort_buffer.py",
        "if released is None or condition is None:",
        "if released is not None or condition is None:",
        on_spark("close_conditions_on_now"),
    ),
    Planted(
        "a frame that looks ahead in time is final too early",
        "stream/operators/over_window.py",
        "final = move_outward(values[time], -ahead.distance)",
        "final = move_outward(values[time], ahead.distance)",
        on_spark("close_over"),
    ),
    Planted(
        "lead waits for nothing",
        "stream/properties/look_ahead.py",
        'ahead = step if (call.function == "lead") != descending else -step',
        'ahead = step if (call.function == "lag") != descending else -step',
        (f"{_FINAL}[rows ahead]",),
    ),
    Planted(
        "of the rows that a frame looks ahead to only one is waited for",
        "stream/passes/close_over.py",
        "(time, Literal(INT, ahead.rows))",
        "(time, Literal(INT, 1))",
        (f"{_FINAL}[rows around]", f"{_FINAL}[rows ahead]"),
    ),
    Planted(
        "a session's start carries the watermark, too",
        "stream/operators/session_window.py",
        "ends = (n.WatermarkColumn(node.end, w.group) for w in own)",
        "ends = (n.WatermarkColumn(c, w.group) for w in own for c in (node.start, node.end))",
        (f"{_FINAL}[sessions]", "tests/golden/test_golden_plans.py"),
    ),
    Planted(
        "rows go that a frame still looks back to",
        "stream/operators/over_window.py",
        "-(reach.back + reach.ahead)",
        "-reach.ahead",
        on_spark("close_state_goes"),
    ),
    Planted(
        "a row goes at the bound",
        "dataflow/state/arrangement.py",
        "f.high[column] < bound",
        "f.high[column] <= bound",
        on_spark("close_state_goes"),
    ),
    Planted(
        "a row of a join goes by its own side's watermark alone",
        "stream/properties/cleaning.py",
        "((far.column, Decimal(0)), (far.other, far.by))",
        "((far.column, Decimal(0)),)",
        on_spark("close_state_goes"),
    ),
    Planted(
        "one row too few of a partition stays",
        "dataflow/partitions/frames.py",
        'f"__last - __place < {last}"',
        'f"__last - __place < {last - 1}"',
        ("tests/dataflow/test_bounded_state.py::test_state_is_what_is_open[daily]",),
    ),
    Planted(
        "rows come before the time of all of them has",
        "stream/operators/temporal_filter.py",
        "return own - low * unit if low else own",
        "return own",
        on_spark("close_conditions_on_now"),
    ),
)
