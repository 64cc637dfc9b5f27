"""Planted bugs of sources that transform their rows, of series that grow, and of sort buffers."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_spark

_RESTART = "tests/epochs/objects/test_transform_restart.py"
_TRANSFORM = "dataflow/intake/transform.py"
THINNING = (
    Planted(
        "rows that are over are not taken back",
        "tables/validity_period.py",
        'weighed.where(f"{WEIGHT} <> 0")',
        'weighed.where(f"{WEIGHT} > 0")',
        on_spark("transform_of_changes_by_key"),
    ),
    Planted(
        "a row is seen at its upper bound",
        "tables/validity_period.py",
        'UPPER: f"{at} < {UPPER}"',
        'UPPER: f"{at} <= {UPPER}"',
        on_spark("transform_of_cdc"),
    ),
    Planted(
        "a message whose row is left out leaves the stored one",
        _TRANSFORM,
        "AND NOT {_KEEPS})",
        "AND FALSE)",
        on_spark("transform_of_changes_by_key"),
    ),
    Planted(
        "a refused message leaves the stored row",
        _TRANSFORM,
        "THEN array('dead', 'take')",
        "THEN array('dead')",
        on_spark("transform_of_changes_by_key"),
    ),
    Planted(
        "rows that wait are seen at once",
        "tables/current.py",
        "return valid_at(rows, obj.period, self.as_of)",
        "return rows",
        (f"{_RESTART}::test_what_is_stored_is_not_asked_for_again[after_seal]",),
    ),
    Planted(
        "a row that is taken in twice after a kill moves no watermark",
        "epochs/objects/source.py",
        "(finished := task.writer.find_record(table)) is not None",
        "False",
        (f"{_RESTART}::test_what_is_stored_is_not_asked_for_again[view_committed]",),
    ),
    Planted(
        "the series of a row that is gone goes on",
        "dataflow/operators/growing_series.py",
        "parts.append(due if grows else _add_up(due, columns))",
        "parts.append(due.where(f'{WEIGHT} > 0'))",
        on_spark("temporal_series"),
    ),
    Planted(
        "a row at the watermark is released",
        "dataflow/operators/sort_buffer.py",
        'condition = f"{column} < {_AFTER}"',
        'condition = f"{column} <= {_AFTER}"',
        on_spark("close_sort"),
    ),
    Planted(
        "what was held is forgotten",
        "dataflow/operators/sort_buffer.py",
        "for part in (fresh, held) if part",
        "for part in (fresh,) if part",
        on_spark("close_joins"),
    ),
)
