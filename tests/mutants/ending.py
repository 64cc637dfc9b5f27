"""Planted bugs of tables whose rows end."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_spark

ENDING = (
    Planted(
        "what comes meets rows that are over",
        "floodmark.dataflow.merge.merge:DML_STAGE",
        "ENDED, SINKS, DML_STAGE = (-2, 0, 1000000)",
        "ENDED, SINKS, DML_STAGE = (2000000, 0, 1000000)",
        on_spark("ttl_conflicts"),
    ),
    Planted(
        "a row is over a moment late",
        "floodmark.tables.cutoff:Cutoff.expired_rows",
        "f'{ident(self.column)} <= {_BOUND}'",
        "f'{ident(self.column)} < {_BOUND}'",
        on_spark("ttl_last_write"),
    ),
    Planted(
        "a write that changes nothing does not renew",
        "floodmark.epochs.objects.table_merge:TableMerge.merge_output",
        "merge.GIVEN if self.replaces else conflicts.WRITTEN",
        '""',
        on_spark("ttl_last_write"),
    ),
    Planted(
        "what the conflict behaviour drops renews",
        "floodmark.epochs.objects.table_merge:TableMerge.merge_output",
        "merge.GIVEN if self.replaces else conflicts.WRITTEN",
        "merge.GIVEN",
        on_spark("ttl_conflicts"),
    ),
    Planted(
        "a row that is over as it comes is there",
        "floodmark.epochs.objects.table_merge:TableMerge._drop_expired_pairs",
        "self.cutoff.is_over(f'{new}.')",
        "'FALSE'",
        on_spark("ttl_column"),
    ),
    Planted(
        "readers see what is discarded",
        "floodmark.tables.current:CurrentRows._filter_visible",
        "cutoff.lasting(rows, fields)",
        "rows",
        on_spark("ttl_append_only_discards"),
    ),
    Planted(
        "a row below the watermark is taken back",
        "floodmark.tables.watermark_ttl:drop_expired",
        "known.where(f'{ident(column)} >= {_BOUND}')",
        "known",
        on_spark("ttl_below_watermark"),
    ),
    Planted(
        "a late row leaves the row of its key",
        "floodmark.epochs.objects.watermarked_table:WatermarkedTable.drop_late",
        "late is not None and self.declaration.ttl_column is not None",
        "late is not None and self.declaration.ttl_column is None",
        on_spark("ttl_below_watermark"),
    ),
    Planted(
        "rows of a key with two times are one that is updated",
        "floodmark.epochs.objects.table_merge:TableMerge.merge_output",
        "Outcome(self.declaration.ttl_column or '', refuses, renews, self.hidden)",
        "Outcome('', refuses, renews, self.hidden)",
        on_spark("ttl_below_watermark"),
    ),
)
