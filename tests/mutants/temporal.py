"""Planted bugs of temporal filters."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_reference, on_spark

_PERIODS = "tests/property/test_temporal_periods.py::test_periods_say_when_a_condition_is_true"
_OPERATOR = "dataflow/operators/temporal_filter.py"
TEMPORAL = (
    Planted(
        "months back from the end of a month are a day short",
        "plan/rules/inverses.py",
        "((short, _plus(back, (0, 1, 0))),)",
        "((short, back),)",
        (_PERIODS,),
    ),
    Planted(
        "NOT over a comparison keeps its own end",
        "plan/rules/temporal.py",
        '_OPPOSITE = {"<": ">=",',
        '_OPPOSITE = {"<": ">",',
        (_PERIODS,),
    ),
    Planted(
        "a branch without now() does not open the period",
        "plan/rules/temporal.py",
        "_unless(guard, bound, _NEVER) for bound",
        "bound for bound",
        (_PERIODS,),
    ),
    Planted(
        "a condition on the kept side of a left join is put below it",
        "plan/rules/temporal_filters.py",
        "elif node.kind in _RIGHT_ONLY and read <= right:",
        "elif node.kind in _RIGHT_ONLY and read <= left:",
        on_reference("temporal_joins_and_groups"),
    ),
    Planted(
        "a row is there at its upper bound",
        _OPERATOR,
        "AND {_NOW} < {_BEFORE}",
        "AND {_NOW} <= {_BEFORE}",
        on_spark("temporal_two_bounds"),
    ),
    Planted(
        "a bound that is NULL is passed over",
        _OPERATOR,
        'whole = " AND ".join(f"({text}) IS NOT NULL" for text in texts)',
        'whole = "TRUE"',
        on_spark("temporal_two_bounds"),
    ),
    Planted(
        "what is due at the time itself waits for the next epoch",
        "dataflow/state/due_changes.py",
        'rows.where(f"{DUE_AT} <= {now}L")',
        'rows.where(f"{DUE_AT} < {now}L")',
        on_spark("temporal_recent_rows"),
    ),
)
