"""The numbers by which the engine weighs work, memory and time.

None of them changes a result; the first group decides what is refused. A warehouse holds one
`Limits`; its epochs, statements, connectors and sinks go by that. `LIMITS` holds where there is no
warehouse. Its `shared` numbers are the same for every warehouse: all who read a definition from the
log must accept the same ones, and several warehouses use one Spark server.
`tests/house/test_limits.py` lists who goes by `LIMITS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any


def _limit(default: int, unit: str, doc: str, *, least: int = 1, shared: bool = False) -> Any:
    metadata = {"unit": unit, "doc": doc, "least": least, "shared": shared}
    return field(default=default, metadata=metadata)


def _process_limit(default: int, unit: str, doc: str) -> Any:
    return _limit(default, unit, doc, shared=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The numbers; each field has a unit and a sentence, which `floodmark doctor -v` prints.

    A warehouse refuses others of the shared ones: what a statement may ask for, and Spark's server.
    """

    # What a statement may ask for: the same in all warehouses.
    name_bytes: int = _process_limit(200, "bytes", "A name has no more.")
    nesting: int = _process_limit(60, "levels", "A statement nests brackets and queries no deeper.")
    chain: int = _process_limit(300, "operators", "An expression chains no more, as in a + b + c.")
    query_nodes: int = _process_limit(
        2_000, "operators", "A plan has no more; one that two places share counts twice."
    )
    query_depth: int = _process_limit(200, "operators", "A plan is no deeper.")
    query_joins: int = _process_limit(
        64, "joins", "A plan has no more: each adds to what is known of the columns of all others."
    )
    query_columns: int = _process_limit(
        1_664, "columns", "A select list of PostgreSQL has no more."
    )
    query_calls: int = _process_limit(
        512,
        "calls",
        "One operator of a view has no more aggregates or window functions. A sum(CASE …) adds "
        "some 230 nodes to an epoch's query; one of 100,000 nodes is planned for ten seconds.",
    )
    expression_nodes: int = _process_limit(
        50_000, "nodes", "An expression has no more; a part that stands in two places counts twice."
    )
    function_nodes: int = _process_limit(
        5_000, "nodes", "A function in SQL has no more, with the functions that it calls."
    )
    constant_rows: int = _process_limit(
        100, "rows", "VALUES with so many rows of constants are read as data, not as expressions."
    )
    repeated_characters: int = _process_limit(
        600,
        "characters",
        "An operand that repeats more of its text is bound once. Spark interprets what binds it, "
        "so that a shorter one costs less where it is repeated.",
    )
    repeated_error_characters: int = _process_limit(
        4_000, "characters", "The same bound for a value and its error, which are two texts."
    )

    # What an epoch takes in, and how its queries are cut.
    source_rows: int = _limit(
        10_000_000,
        "rows",
        "An epoch takes no more of a source without max_rows_per_epoch. A large epoch costs far "
        "less than many small ones.",
    )
    source_behind: int = _limit(
        1_000_000, "rows", "The log names a source that has more new rows: it is behind."
    )
    max_due_rows: int = _limit(
        1_000_000,
        "rows",
        "No more rows come and go in one epoch because of the time, unless SET max_due_rows says "
        "otherwise. After a long stop there are several epochs.",
    )
    plan_nodes: int = _limit(
        40_000,
        "nodes",
        "A query of an epoch with more is split where that is possible, unless SET plan_nodes "
        "says otherwise.",
    )
    object_threads: int = _limit(
        4, "threads", "So many objects of an epoch advance at the same time."
    )
    unique_rows: int = _limit(
        100_000,
        "rows",
        "A statement with so many rows has its keys checked first. Where none comes twice and "
        "none is stored, nothing has to be merged.",
    )
    unique_bytes: int = _limit(
        64 * 2**20,
        "bytes",
        "That check holds no more keys in memory; keys in ascending order need no room.",
        least=0,
    )
    staged_rows: int = _limit(
        5_000, "rows", "A statement sends so many rows to Spark directly; more go by files."
    )
    staged_bytes: int = _limit(
        2**20,
        "bytes",
        "A statement sends rows of so many bytes to Spark directly; larger ones go by files.",
    )
    staged_file_rows: int = _limit(
        250_000, "rows", "A file of rows that a statement sends to Spark has no more."
    )
    constants_piece: int = _limit(
        2**14, "rows", "Rows of constants are converted so many at a time."
    )
    late_piece: int = _limit(
        1_024,
        "rows",
        "Lateness is checked by the lowest and highest time of so many neighbouring rows.",
    )
    late_read_rows: int = _limit(
        4_000_000,
        "rows",
        "The times of so many rows of Parquet are read in the engine's process (50 to 80 ms a "
        "million), of more in Spark.",
    )
    late_query_rows: int = _limit(
        100_000,
        "rows",
        "For fewer rows one more query, which finds that none is late, costs more than to sort "
        "them.",
    )
    delivered_files: int = _limit(
        32, "files", "So many Parquet files of an epoch are taken over whatever their size."
    )
    delivered_bytes: int = _limit(
        2**20, "bytes", "More are taken over where they have so many on average."
    )
    delivered_threads: int = _limit(2, "threads", "So many of them are checked at the same time.")
    delivered_piece: int = _limit(65_536, "rows", "They are checked by so many rows.")
    generated_task_rows: int = _limit(
        250_000, "rows", "A task of Spark generates no more rows of datagen or nexmark."
    )
    lookup_piece: int = _limit(
        50_000, "rows", "Rows that a lookup fetched are held in memory so many at a time."
    )
    copy_block_bytes: int = _limit(
        16 * 2**20, "bytes", "COPY reads so much of a text file at a time."
    )
    copy_record_bytes: int = _limit(2**28, "bytes", "COPY refuses a row of a text file with more.")
    copy_piece: int = _limit(
        2**17, "rows", "COPY converts so many rows of a Parquet file at a time."
    )
    text_piece: int = _limit(
        65_536, "rows", "COPY and sinks write CSV and JSON so many rows at a time."
    )
    file_lookups: int = _limit(
        100_000_000,
        "rows times files",
        "Above that, rows get the offset of their file by a join, below it from a map.",
        least=0,
    )

    # How Spark joins what is stored with what comes.
    broadcast_rows: int = _limit(
        2_000_000,
        "rows",
        "Rows of so many are broadcast. For more, Spark decides by the sizes that it knows.",
        least=0,
    )
    distinct_rows: int = _limit(
        100_000,
        "rows",
        "Up to so many changes are joined with the stored rows as they are. Of more, each key is "
        "joined once.",
        least=0,
    )
    whole_bytes: int = _limit(
        4 * 2**20,
        "bytes",
        "Stored rows of fewer bytes are joined without looking for their keys first.",
        least=0,
    )
    whole_factor: int = _limit(
        2,
        "times",
        "So are stored rows that are no more than so many times the incoming ones.",
    )
    reread_bytes: int = _limit(
        4 * 2**20,
        "bytes",
        "A join or a group that is computed again for few changes, of so many bytes or more, reads "
        "their keys alone.",
        least=0,
    )
    search_bytes: int = _limit(
        2**29,
        "bytes",
        "Rows with keys are found in the engine's process in files of so many bytes, in more of "
        "them by Spark.",
        least=0,
    )
    search_files_bytes: int = _limit(
        2**33,
        "bytes",
        "Of files of so many bytes those are left out that have no such key, as the engine's "
        "process reads the columns of keys.",
        least=0,
    )
    search_rows: int = _limit(
        20_000,
        "rows",
        "Groups of an aggregate are looked for that way where so many are stored; fewer are joined "
        "as they are.",
        least=0,
    )
    search_share: int = _limit(
        8,
        "times",
        "So are they where no more than one in so many of the first rows has such keys.",
    )
    keyed_factor: int = _limit(
        4,
        "times",
        "A table is read by the keys of changes, once for all views, where their column can have "
        "at least so many times as many values.",
        least=0,
    )
    exact_keys: int = _limit(
        100_000, "rows", "Files are chosen by the keys of so many changes; of more, by their range."
    )
    keys_at_once: int = _limit(1_000, "rows", "So many keys are compared with files at a time.")
    pane_windows: int = _limit(
        3, "windows", "A row of so many hopping windows is added up by panes first."
    )

    # How rows at rest follow their changes.
    rewrite_bytes: int = _limit(
        64 * 2**20,
        "bytes",
        "Touched files of so many bytes are rewritten in the engine's process, more in Spark.",
        least=0,
    )
    rewrite_changed_bytes: int = _limit(
        4 * 2**20, "bytes", "The same bound for the changes, which are held in memory."
    )
    rewrite_file_bytes: int = _limit(
        4 * 2**20,
        "bytes",
        "Rewritten files with less become one; a larger one stays a file of its own.",
        least=0,
    )
    rewrite_group_bytes: int = _limit(
        16 * 2**20,
        "bytes",
        "So much, not compressed, is held at a time, and becomes a row group.",
    )
    rewrite_group_rows: int = _limit(2**18, "rows", "The same bound in rows.")
    rewrite_apart_rows: int = _limit(2**12, "rows", "So many rows of new keys get their own file.")
    layer_bytes: int = _limit(
        64 * 2**20,
        "bytes",
        "An epoch that had to rewrite more puts its changes into a layer, or a run of groups.",
        least=0,
    )
    layer_rows: int = _limit(
        500_000, "rows", "The same bound in rows; to rewrite a million takes some 0.3 s.", least=0
    )
    layer_factor: int = _limit(
        8, "times", "An epoch always rewrites up to so many times what it changes.", least=0
    )
    layer_share: int = _limit(
        8,
        "times",
        "A layer is folded into its table when that has fewer than so many times its rows.",
        least=0,
    )
    layer_epochs: int = _limit(
        64,
        "epochs",
        "A layer is folded after so many; until then other programs see the table as it was.",
    )
    state_file_rows: int = _limit(
        65_536,
        "rows",
        "A file of rows that wait for their time has no more. It is written again when its first "
        "row is due.",
    )
    log_files: int = _limit(
        8, "files", "An operator shortens the log of its input when that has so many."
    )
    compact_files: int = _limit(40, "files", "A table with more is compacted after a seal.")
    compact_bytes: int = _limit(128 * 2**20, "bytes", "Compaction makes files of about that size.")
    compact_fewest: int = _limit(
        4,
        "files",
        "Compaction merges no fewer, and each tier has files so many times larger than the one "
        "below: a merge always leaves its tier.",
        least=2,
    )
    reclaim_percent: int = _limit(
        50, "percent", "A file is written again when so many of its rows have expired."
    )
    snapshots: int = _limit(
        8,
        "versions",
        "So many versions of a table are kept in memory: an epoch opens its inputs at a few.",
    )
    checkpoint_commits: int = _limit(
        100, "commits", "A table gets a checkpoint of its log after so many."
    )
    clean_up_hours: int = _limit(
        24,
        "hours",
        "Maintenance cleans up after so many, or after the retention where that is shorter.",
    )
    clean_up_statement_hours: int = _limit(
        24, "hours", "Rows of a statement that no epoch names are removed when it is older."
    )
    clean_up_replay_hours: int = _limit(
        24, "hours", "What a replay has left is removed when it is older."
    )

    # Backfills and sinks.
    backfill_bytes: int = _limit(
        128 * 2**20,
        "bytes",
        "A view that reads more is backfilled beside the epochs, unless FLOODMARK_BACKFILL_BYTES "
        "says otherwise; one that reads less is filled in the epoch that creates it.",
    )
    backfill_threads: int = _limit(2, "threads", "So many views are backfilled at the same time.")
    backfill_reach_epochs: int = _limit(
        2, "epochs", "A backfill that is so many behind ends: the next epoch does them first."
    )
    backfill_patience: int = _limit(
        20, "steps", "So does one that has not come nearer in so many, one epoch each."
    )
    backfill_poll_milliseconds: int = _limit(
        500, "milliseconds", "A run without an epoch to do looks so often whether one has ended."
    )
    sink_file_rows: int = _limit(
        1_000_000, "rows", "A file of a sink has no more, unless its rows_per_file says otherwise."
    )
    sink_delta_rows: int = _limit(2_000_000, "rows", "A file of a sink to Delta has no more.")
    sink_piece: int = _limit(65_536, "rows", "A sink reads so many changes at a time.")
    sink_keys: int = _limit(
        100_000,
        "keys",
        "A sink to Delta finds the files of so many keys by statistics; for more it reads all.",
    )
    sink_tries: int = _limit(
        5,
        "times",
        "A sink tries a commit so many times when other programs write to its Delta table.",
    )
    sink_pause_seconds: int = _limit(
        30, "seconds", "A sink that is out of reach pauses so long after its second try."
    )
    sink_longest_pause_seconds: int = _limit(
        3_600, "seconds", "The pause doubles with each try up to that."
    )

    # Queries that are computed in the engine's process.
    in_process_rows: int = _process_limit(1_000_000, "rows", "A query computed there has no more.")
    in_process_bytes: int = _process_limit(128 * 2**20, "bytes", "Nor do its files have more.")
    in_process_alone_bytes: int = _process_limit(8 * 2**20, "bytes", "Larger ones go one by one.")
    in_process_texts: int = _process_limit(250_000, "characters", "Texts of so many stay parsed.")
    in_process_characters: int = _process_limit(5_000, "characters", "A longer one is Spark's.")
    # Spark's server: that of several warehouses.
    server_start_seconds: int = _process_limit(180, "seconds", "Its start may take so long.")
    server_answer_seconds: int = _process_limit(
        60, "seconds", "A server that does not answer for so long is stopped."
    )
    server_stop_seconds: int = _process_limit(15, "seconds", "After so long it is killed.")
    server_archive_seconds: int = _process_limit(
        90, "seconds", "The same bound for a server that still writes an archive of its classes."
    )
    server_kill_seconds: int = _process_limit(
        30, "seconds", "A killed server that has not ended after so long is an error."
    )
    server_dump_seconds: int = _process_limit(
        10, "seconds", "A server has so long to name its threads."
    )
    server_first_heap_mb: int = _process_limit(1_024, "MiB", "A server starts with that heap.")
    server_archives: int = _process_limit(
        4, "archives", "So many archives of classes are kept; each has 200 MB."
    )
    server_look_seconds: int = _process_limit(5, "seconds", "A server is looked at so often.")
    server_ask_seconds: int = _process_limit(20, "seconds", "It is asked for an answer so often.")
    server_orphan_seconds: int = _process_limit(
        40,
        "seconds",
        "A server that works so long for a process that has ended is killed. Spark Connect "
        "interrupts such a query itself after some 20 s.",
    )
    server_left_seconds: int = _process_limit(
        90,
        "seconds",
        "So is one with a task that no query has asked for. An idle thread ends after 60 s.",
    )
    interrupt_seconds: int = _process_limit(
        20,
        "seconds",
        "A query that goes on for so long after query_timeout interrupted it ends with its "
        "server: the optimizer does not notice an interruption.",
    )
    interrupt_again_seconds: int = _process_limit(1, "seconds", "It is interrupted again so often.")
    jars_seconds: int = _process_limit(
        300, "seconds", "Maven may take so long to fetch Spark's packages."
    )

    # Backups.
    backup_tries: int = _limit(
        5, "times", "A backup starts over so many times when tables are cleaned up meanwhile."
    )
    backup_chunk_bytes: int = _limit(2**20, "bytes", "A backup copies so much at a time.")

    # Records and the lease.
    lease_poll_milliseconds: int = _process_limit(
        20, "milliseconds", "A process that waits for the lease looks so often."
    )
    listing_tries: int = _process_limit(
        3, "times", "A listing with a gap is read so often: others may be writing meanwhile."
    )
    followed_epochs: int = _process_limit(
        8, "epochs", "The end of the log is followed so far; beyond that it is listed anew."
    )
    records_in_memory: int = _process_limit(
        64, "records", "So many records of a log stay in memory once they were read."
    )
    progress_records: int = _limit(
        1_000, "records", "A check of the logs reports its progress so often."
    )

    # What is shown.
    letters: int = _limit(
        100_000, "rows", "The most frequent reasons are those of so many dead letters, the newest."
    )
    letters_piece: int = _limit(10_000, "rows", "Dead letters are read so many at a time.")
    recent_epochs: int = _limit(100, "epochs", "A check on demand looks at so many, the newest.")
    system_epochs: int = _limit(1_000, "epochs", "`floodmark.epochs` shows so many, the newest.")
    window_epochs: int = _limit(
        200,
        "epochs",
        "Rows of so many, the newest, are compared with their watermark where statistics do not "
        "say enough.",
    )
    watch_piece: int = _limit(10_000, "rows", "Changes are shown so many at a time.")
    replay_looks: int = _limit(
        50,
        "epochs",
        "So many are looked at for each one of a sample to replay, until one changed something.",
    )
    shown_differences: int = _limit(5, "rows", "A replay shows no more rows that differ.")
    correction_epochs: int = _limit(
        10_000,
        "epochs",
        "The last expired epoch with late rows is looked for among so many.",
    )
    partition_events: int = _limit(
        500,
        "events",
        "A run in Dagster reports no more final partitions; the next reports the rest.",
    )
    low_disk_bytes: int = _limit(2 * 2**30, "bytes", "`floodmark doctor` warns of less free space.")
    stalled_epochs: int = _limit(
        10, "epochs", "`floodmark doctor` warns of a watermark that stands still for so many."
    )


@dataclass(frozen=True, slots=True)
class Limit:
    """One number, as a person reads it; a shared one is the same in all warehouses.

    `least` is 1, or 0 where that means always or never, or 2 of what is merged.
    """

    name: str
    value: int
    unit: str
    doc: str
    least: int
    shared: bool


def each_limit(limits: Limits) -> Iterator[Limit]:
    """Yield every number with its unit and its sentence."""
    for f in fields(limits):
        yield Limit(f.name, getattr(limits, f.name), **f.metadata)


LIMITS = Limits()
"""What holds unless somebody says otherwise."""
