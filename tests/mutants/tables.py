"""Planted bugs of tables, and of what comes to them from sinks and messages."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_spark

TABLES = (
    Planted(
        "a table keeps a row that its last operation deletes",
        "dataflow/merge/merge.py",
        'f"CASE WHEN last.w > 0 THEN last.r END AS {NEW_ROW}"',
        'f"last.r AS {NEW_ROW}"',
        on_spark("table_same_key_in_one_epoch"),
    ),
    Planted(
        "of two sinks the first one has the last word",
        "dataflow/merge/merge.py",
        'f"{STAGE} AS writer"',
        'f"-{STAGE} AS writer"',
        on_spark("sink_two_into_one_table"),
    ),
    Planted(
        "an equal version is ignored",
        "dataflow/merge/conflicts.py",
        "{incoming} < {stored}",
        "{incoming} <= {stored}",
        on_spark("conflict_versions"),
    ),
    Planted(
        "a delete counts whose key a sink writes again",
        "dataflow/merge/conflicts.py",
        "NOT (__again AND",
        "NOT (FALSE AND",
        on_spark("conflict_other_stream_key"),
    ),
    Planted(
        "DO UPDATE IF NOT NULL prefers what is stored",
        "dataflow/merge/conflicts.py",
        "coalesce(__o.r.{ident(c)}, __a.r.{ident(c)})",
        "coalesce(__a.r.{ident(c)}, __o.r.{ident(c)})",
        on_spark("conflict_if_not_null"),
    ),
    Planted(
        "a sink brings rows without a key",
        "dataflow/intake/not_null_filter.py",
        "    if not needed:",
        "    if needed or not needed:",
        on_spark("sink_null_in_a_key"),
    ),
    Planted(
        "the first message of a key stands",
        "dataflow/merge/merge.py",
        "-1, ROW_ID, *passed",
        '-1, f"-{ROW_ID}", *passed',
        on_spark("upsert_replaces_by_key"),
    ),
    Planted(
        "a message that deletes puts its row",
        "epochs/objects/table.py",
        "THEN -1 ELSE 1 END",
        "THEN 1 ELSE 1 END",
        on_spark("cdc_changes_by_key"),
    ),
    Planted(
        "an update that moves the key leaves the old row",
        "dataflow/intake/messages.py",
        "THEN array('take', 'put')",
        "THEN array('put')",
        on_spark("cdc_key_moves"),
    ),
    Planted(
        "the second row of a promised key is stored",
        "dataflow/intake/primary_key_dedup.py",
        'twice = f"({_NTH} > 1 OR',
        'twice = f"({_NTH} > 2 OR',
        on_spark("source_promises_a_key"),
    ),
    Planted(
        "dead letters are not stored",
        "dataflow/stages.py",
        "for written, into in ((files, self.dead), (withdrawn, self.withdrawn)):",
        "for written, into in ((withdrawn, self.withdrawn),):",
        on_spark("dead_division_in_select"),
    ),
    Planted(
        "dead letters are never taken back",
        "dataflow/stages.py",
        "for written, into in ((files, self.dead), (withdrawn, self.withdrawn)):",
        "for written, into in ((files, self.dead),):",
        on_spark("subquery_scalar"),
    ),
)
