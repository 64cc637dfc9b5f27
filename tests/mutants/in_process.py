"""Planted bugs of queries that are computed in the engine's process."""

from __future__ import annotations

from tests.mutants.planted import Planted

_HERE = "tests/spark/in_process/test_here_as_on_spark.py"
IN_PROCESS = (
    Planted(
        "values that are NULL are no longer the same",
        "floodmark.spark.in_process.comparisons:equal_or_null",
        "return pc.or_(equal, pc.and_(pc.is_null(left), pc.is_null(right)))",
        "return equal",
        (f"{_HERE}::test_expressions",),
    ),
    Planted(
        "a join takes NULL for equal to NULL",
        "floodmark.spark.in_process.joins:_codes",
        "if not match.null_is_equal:",
        "if match.null_is_equal:",
        (f"{_HERE}::test_joins",),
    ),
    Planted(
        "sums overflow and nobody sees it",
        "floodmark.spark.in_process.sums:sum_type",
        ">= limit // 2",
        ">= limit * limit",
        (f"{_HERE}::test_sums_that_may_be_out_of_range_are_left_to_spark",),
    ),
    Planted(
        "quotients are cut, not rounded",
        "floodmark.spark.in_process.quotients:quotient",
        "whole + (2 * rest >= abs(b)).astype(np.int64)",
        "whole + 0 * rest",
        (f"{_HERE}::test_expressions",),
    ),
)
