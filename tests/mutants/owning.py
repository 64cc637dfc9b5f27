"""Planted bugs of sinks that own columns."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_reference, on_spark

_MODEL = "tests/property/test_owned_spark.py::test_the_reference_holds_rows_as_the_model_does"
OWNING = (
    Planted(
        "the row goes with the first of its owners",
        "floodmark.dataflow.merge.column_owners:GOES",
        "(size({_LEFT}) = 0) IS TRUE",
        "(size({_LEFT}) <= 1) IS TRUE",
        on_spark("owned_columns"),
    ),
    Planted(
        "an owner takes the row of a statement away",
        "floodmark.dataflow.merge.column_owners:GOES",
        "(size({_LEFT}) = 0) IS TRUE",
        "(coalesce(size({_LEFT}), 0) <= 0) IS TRUE",
        on_spark("owned_columns_beside_other_writers"),
    ),
    Planted(
        "a delete leaves the columns of its owner",
        "floodmark.dataflow.merge.column_owners:clear",
        "f'CASE WHEN NOT {mine} THEN __a.r.{c} END'",
        "f'__a.r.{c}'",
        on_spark("owned_columns"),
    ),
    Planted(
        "an owner that comes second does not hold the row",
        "floodmark.dataflow.merge.column_owners:set_owned",
        "f'array_sort(array_union({_HELD}, {_MINE}))'",
        "_HELD",
        on_spark("owned_columns"),
    ),
    Planted(
        "another sink's row saves the columns of a delete",
        "floodmark.dataflow.merge.column_owners:skip_rewritten_deletes",
        "x.o.stage AND y.o.writer = x.o.writer",
        "x.o.stage",
        on_spark("owned_columns_by_another_key"),
    ),
    Planted(
        "who holds a row is stored with what else changes alone",
        "floodmark.epochs.objects.table_merge:TableMerge.merge_output",
        "f'NOT ({NEW_ROW}.{OWNERS} <=> {OLD_ROW}.{OWNERS})'",
        "''",
        on_spark("owned_columns"),
    ),
    Planted(
        "the model's owners hold nothing of each other's rows",
        "floodmark.reference.ownership:apply_owner",
        "held | {owner}",
        "frozenset((owner,))",
        (f"{_MODEL}[0]", *on_reference("owned_columns")),
    ),
)
