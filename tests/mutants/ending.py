"""Planted bugs of tables whose rows end."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_spark

_CUTOFF = "tables/cutoff.py"
ENDING = (
    Planted(
        "what comes meets rows that are over",
        "dataflow/merge/merge.py",
        "ENDED, SINKS, DML_STAGE = -2, 0, 1_000_000",
        "ENDED, SINKS, DML_STAGE = 2_000_000, 0, 1_000_000",
        on_spark("ttl_conflicts"),
    ),
    Planted(
        "a row is over a moment late",
        _CUTOFF,
        'f"{ident(self.column)} <= {_BOUND}"',
        'f"{ident(self.column)} < {_BOUND}"',
        on_spark("ttl_last_write"),
    ),
    Planted(
        "a write that changes nothing does not renew",
        "epochs/objects/table_merge.py",
        "renews = merge.GIVEN if self.replaces else conflicts.WRITTEN",
        'renews = ""',
        on_spark("ttl_last_write"),
    ),
    Planted(
        "what the conflict behaviour drops renews",
        "epochs/objects/table_merge.py",
        "renews = merge.GIVEN if self.replaces else conflicts.WRITTEN",
        "renews = merge.GIVEN",
        on_spark("ttl_conflicts"),
    ),
    Planted(
        "a row that is over as it comes is there",
        "epochs/objects/table_merge.py",
        'over = self.cutoff.is_over(f"{new}.")',
        'over = "FALSE"',
        on_spark("ttl_column"),
    ),
    Planted(
        "readers see what is discarded",
        "tables/current.py",
        "return cutoff.lasting(rows, fields)",
        "return rows",
        on_spark("ttl_append_only_discards"),
    ),
    Planted(
        "a row below the watermark is taken back",
        "tables/watermark_ttl.py",
        'known.where(f"{ident(column)} >= {_BOUND}")',
        "known",
        on_spark("ttl_below_watermark"),
    ),
    Planted(
        "a late row leaves the row of its key",
        "epochs/objects/watermarked_table.py",
        "if late is not None and self.declaration.ttl_column is not None:",
        "if late is not None and self.declaration.ttl_column is None:",
        on_spark("ttl_below_watermark"),
    ),
    Planted(
        "rows of a key with two times are one that is updated",
        "epochs/objects/table_merge.py",
        'Outcome(self.declaration.ttl_column or "", refuses, renews, self.hidden)',
        'Outcome("", refuses, renews, self.hidden)',
        on_spark("ttl_below_watermark"),
    ),
)
