"""Planted bugs of sources that transform their rows, of series that grow, and of sort buffers."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_spark

_RESTART = "tests/epochs/objects/test_transform_restart.py"
THINNING = (
    Planted(
        "rows that are over are not taken back",
        "floodmark.tables.validity_period:crossing",
        "weighed.where(f'{WEIGHT} <> 0')",
        "weighed.where(f'{WEIGHT} > 0')",
        on_spark("transform_of_changes_by_key"),
    ),
    Planted(
        "a row is seen at its upper bound",
        "floodmark.tables.validity_period:_holds",
        "UPPER: f'{at} < {UPPER}'",
        "UPPER: f'{at} <= {UPPER}'",
        on_spark("transform_of_cdc"),
    ),
    Planted(
        "a message whose row is left out leaves the stored one",
        "floodmark.dataflow.intake.transform:transform_messages",
        "AND NOT {_KEEPS})",
        "AND FALSE)",
        on_spark("transform_of_changes_by_key"),
    ),
    Planted(
        "a refused message leaves the stored row",
        "floodmark.dataflow.intake.transform:transform_messages",
        "THEN array('dead', 'take')",
        "THEN array('dead')",
        on_spark("transform_of_changes_by_key"),
    ),
    Planted(
        "rows that wait are seen at once",
        "floodmark.tables.current:CurrentRows._filter_visible",
        "valid_at(rows, obj.period, self.as_of)",
        "rows",
        (f"{_RESTART}::test_what_is_stored_is_not_asked_for_again[after_seal]",),
    ),
    Planted(
        "a row that is taken in twice after a kill moves no watermark",
        "floodmark.epochs.objects.source:SourceIngest.ingest",
        "(finished := advance.writer.find_record(table)) is not None",
        "False",
        (f"{_RESTART}::test_what_is_stored_is_not_asked_for_again[view_committed]",),
    ),
    Planted(
        "the series of a row that is gone goes on",
        "floodmark.dataflow.operators.growing_series:delta",
        "parts.append(due if grows else _add_up(due, columns))",
        "parts.append(due.where(f'{WEIGHT} > 0'))",
        on_spark("temporal_series"),
    ),
    Planted(
        "a row at the watermark is released",
        "floodmark.dataflow.operators.sort_buffer:_rows_between",
        "f'{column} < {_AFTER}'",
        "f'{column} <= {_AFTER}'",
        on_spark("close_sort"),
    ),
    Planted(
        "what was held is forgotten",
        "floodmark.dataflow.operators.sort_buffer:_from_state",
        "for part in (fresh, held) if part",
        "for part in (fresh,) if part",
        on_spark("close_joins"),
    ),
)
