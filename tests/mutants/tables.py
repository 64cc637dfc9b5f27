"""Planted bugs of tables, and of what comes to them from sinks and messages."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_spark

TABLES = (
    Planted(
        "a table keeps a row that its last operation deletes",
        "floodmark.dataflow.merge.merge:last_per_key",
        "f'CASE WHEN last.w > 0 THEN last.r END AS {NEW_ROW}'",
        "f'last.r AS {NEW_ROW}'",
        on_spark("table_same_key_in_one_epoch"),
    ),
    Planted(
        "of two sinks the first one has the last word",
        "floodmark.dataflow.merge.merge:gather_operations",
        "f'{STAGE} AS writer'",
        "f'-{STAGE} AS writer'",
        on_spark("sink_two_into_one_table"),
    ),
    Planted(
        "an equal version is ignored",
        "floodmark.dataflow.merge.conflicts:_print_conflict",
        "{incoming} < {stored}",
        "{incoming} <= {stored}",
        on_spark("conflict_versions"),
    ),
    Planted(
        "a delete counts whose key a sink writes again",
        "floodmark.dataflow.merge.conflicts:list_operations",
        "NOT (__again AND",
        "NOT (FALSE AND",
        on_spark("conflict_other_stream_key"),
    ),
    Planted(
        "DO UPDATE IF NOT NULL prefers what is stored",
        "floodmark.dataflow.merge.conflicts:_print_conflict",
        "coalesce(__o.r.{ident(c)}, __a.r.{ident(c)})",
        "coalesce(__a.r.{ident(c)}, __o.r.{ident(c)})",
        on_spark("conflict_if_not_null"),
    ),
    Planted(
        "a sink brings rows without a key",
        "floodmark.dataflow.intake.not_null_filter:mark_nulls",
        "not needed",
        "needed or not needed",
        on_spark("sink_null_in_a_key"),
    ),
    Planted(
        "the first message of a key stands",
        "floodmark.dataflow.merge.merge:connector_operations",
        "-1, ROW_ID, *passed",
        '-1, f"-{ROW_ID}", *passed',
        on_spark("upsert_replaces_by_key"),
    ),
    Planted(
        "a message that deletes puts its row",
        "floodmark.epochs.objects.table:TableIngest._connector_operations",
        "THEN -1 ELSE 1 END",
        "THEN 1 ELSE 1 END",
        on_spark("cdc_changes_by_key"),
    ),
    Planted(
        "an update that moves the key leaves the old row",
        "floodmark.dataflow.intake.messages:_steps",
        "THEN array('take', 'put')",
        "THEN array('put')",
        on_spark("cdc_key_moves"),
    ),
    Planted(
        "the second row of a promised key is stored",
        "floodmark.dataflow.intake.primary_key_dedup:once_per_key",
        "f'({_NTH} > 1 OR",
        "f'({_NTH} > 2 OR",
        on_spark("source_promises_a_key"),
    ),
    Planted(
        "dead letters are not stored",
        "floodmark.dataflow.stages:ObjectStages.add_dead_letters",
        "for written, into in ((files, self.dead), (withdrawn, self.withdrawn)):",
        "for written, into in ((withdrawn, self.withdrawn),):",
        on_spark("dead_division_in_select"),
    ),
    Planted(
        "dead letters are never taken back",
        "floodmark.dataflow.stages:ObjectStages.add_dead_letters",
        "for written, into in ((files, self.dead), (withdrawn, self.withdrawn)):",
        "for written, into in ((files, self.dead),):",
        on_spark("subquery_scalar"),
    ),
)
