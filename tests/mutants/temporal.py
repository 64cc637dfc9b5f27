"""Planted bugs of temporal filters."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_reference, on_spark

_PERIODS = "tests/property/test_temporal_periods.py::test_periods_say_when_a_condition_is_true"
TEMPORAL = (
    Planted(
        "months back from the end of a month are a day short",
        "floodmark.plan.rules.inverses:_invert_shift",
        "((short, _plus(back, (0, 1, 0))),)",
        "((short, back),)",
        (_PERIODS,),
    ),
    Planted(
        "NOT over a comparison keeps its own end",
        "floodmark.plan.rules.temporal:_OPPOSITE",
        "{'<': '>=',",
        "{'<': '>',",
        (_PERIODS,),
    ),
    Planted(
        "a branch without now() does not open the period",
        "floodmark.plan.rules.temporal:_add_branches",
        "_unless(guard, bound, _NEVER) for bound",
        "bound for bound",
        (_PERIODS,),
    ),
    Planted(
        "a condition on the kept side of a left join is put below it",
        "floodmark.plan.rules.temporal_filters:_join",
        "node.kind in _RIGHT_ONLY and read <= right",
        "node.kind in _RIGHT_ONLY and read <= left",
        on_reference("temporal_joins_and_groups"),
    ),
    Planted(
        "a row is there at its upper bound",
        "floodmark.dataflow.operators.temporal_filter:_present_rows",
        "AND {_NOW} < {_BEFORE}",
        "AND {_NOW} <= {_BEFORE}",
        on_spark("temporal_two_bounds"),
    ),
    Planted(
        "a bound that is NULL is passed over",
        "floodmark.dataflow.operators.temporal_filter:_add_period",
        "' AND '.join((f'({text}) IS NOT NULL' for text in texts))",
        "'TRUE'",
        on_spark("temporal_two_bounds"),
    ),
    Planted(
        "what is due at the time itself waits for the next epoch",
        "floodmark.dataflow.state.due_changes:DueChanges.take_due",
        "rows.where(f'{DUE_AT} <= {now}L')",
        "rows.where(f'{DUE_AT} < {now}L')",
        on_spark("temporal_recent_rows"),
    ),
)
