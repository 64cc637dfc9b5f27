"""How much of everything at most: the numbers by which the engine weighs work, memory and time.

None of them changes a result. A warehouse holds one `Limits`, and what it does goes by that; what
knows no warehouse, the parser and the planner among them, goes by `LIMITS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any


def _limit(default: int, unit: str, doc: str) -> Any:
    return field(default=default, metadata={"unit": unit, "doc": doc})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The numbers; each field has a unit and a sentence, which `floodmark doctor -v` prints."""

    # What a statement may ask for.
    name_bytes: int = _limit(200, "bytes", "A name is no longer.")
    nesting: int = _limit(60, "levels", "Brackets and queries of a statement are nested no deeper.")
    chain: int = _limit(300, "operators", "An expression has no more of them side by side.")
    query_nodes: int = _limit(
        2_000, "operators", "A plan has no more; one that two places share counts twice."
    )
    query_depth: int = _limit(200, "operators", "No more of a plan stand above one another.")
    query_joins: int = _limit(
        64, "joins", "A plan has no more: each adds to what is known of the columns of all others."
    )
    query_columns: int = _limit(1_664, "columns", "A select list has no more, as in PostgreSQL.")
    query_calls: int = _limit(
        512,
        "calls",
        "One operator of a view has no more aggregates or window functions. A sum(CASE …) is some "
        "230 nodes of an epoch's query, and one of 100,000 is planned for some ten seconds.",
    )
    expression_nodes: int = _limit(
        50_000, "nodes", "An expression has no more; one that stands in two places counts twice."
    )
    function_nodes: int = _limit(
        5_000, "nodes", "A function in SQL grows to no more, with what it calls."
    )
    constant_rows: int = _limit(
        100, "rows", "So many rows of constants are read as data, not as expressions."
    )

    # What an epoch takes in, and how its queries are cut.
    source_rows: int = _limit(
        10_000_000,
        "rows",
        "An epoch takes no more of a source whose options do not say; a large epoch costs far less "
        "than many small ones.",
    )
    source_behind: int = _limit(
        1_000_000, "rows", "A source with more new rows is behind, which the log says."
    )
    max_due_rows: int = _limit(
        1_000_000,
        "rows",
        "No more, or a file of them, come and go in one epoch because of the time, unless "
        "SET max_due_rows says otherwise: after a long stop there are several epochs.",
    )
    plan_nodes: int = _limit(
        40_000,
        "nodes",
        "A query of an epoch with more is split where it can be, unless SET plan_nodes says "
        "otherwise.",
    )
    object_threads: int = _limit(4, "threads", "So many objects of an epoch advance side by side.")
    unique_rows: int = _limit(
        100_000,
        "rows",
        "Of so many rows of one statement the keys are looked at first: if none comes twice and "
        "none is stored, nothing is merged.",
    )
    unique_bytes: int = _limit(
        64 * 2**20, "bytes", "Keys that are not in order are held to tell that, if they are fewer."
    )
    staged_rows: int = _limit(
        5_000, "rows", "A statement sends no more to Spark as they are; more go by files."
    )
    staged_bytes: int = _limit(2**20, "bytes", "The same, by their size.")
    staged_file_rows: int = _limit(250_000, "rows", "Such a file has no more.")
    constants_piece: int = _limit(2**14, "rows", "Rows of constants become data so many at a time.")
    late_piece: int = _limit(
        1_024, "rows", "Whether one of them may be late is told of so many together."
    )
    copy_block_bytes: int = _limit(16 * 2**20, "bytes", "COPY reads a text so much at a time.")
    copy_record_bytes: int = _limit(2**28, "bytes", "One row of a text that COPY reads has fewer.")
    file_lookups: int = _limit(
        100_000_000,
        "rows times files",
        "Rows of more find the place of their file by a join, of fewer in a map.",
    )

    # How Spark joins what is stored with what comes.
    broadcast_rows: int = _limit(
        2_000_000,
        "rows",
        "So many are sent whole to every task; of more, Spark decides by what it knows of sizes.",
    )
    distinct_rows: int = _limit(
        100_000, "rows", "So many are looked for by their keys as they are; of more, each key once."
    )
    whole_bytes: int = _limit(4 * 2**20, "bytes", "Stored rows of fewer are joined whole.")
    whole_factor: int = _limit(
        2,
        "times",
        "Stored rows that are no more than so many times those that come are joined whole, too.",
    )

    # How rows at rest follow their changes.
    rewrite_bytes: int = _limit(
        64 * 2**20,
        "bytes",
        "So much of touched files is rewritten in the engine's process; more is Spark's.",
    )
    rewrite_changed_bytes: int = _limit(
        4 * 2**20, "bytes", "The same, of the changes, which are held whole."
    )
    layer_bytes: int = _limit(
        64 * 2**20,
        "bytes",
        "An epoch that had to rewrite more puts its changes into a layer over the rows.",
    )
    layer_rows: int = _limit(500_000, "rows", "The same, by rows; a million take some 0.3 s.")
    layer_factor: int = _limit(
        8, "times", "Up to so many times what changes is rewritten, whatever it is."
    )
    layer_share: int = _limit(
        8, "times", "A layer is folded when the table has no more than so many times its rows."
    )
    layer_epochs: int = _limit(
        64, "epochs", "A layer is folded then: others see a table no more epochs late."
    )
    state_file_rows: int = _limit(
        65_536,
        "rows",
        "Files of rows that wait for their time have no more, which are written again when the "
        "first of them waits no longer.",
    )
    log_files: int = _limit(
        8, "files", "Operators shorten the log of their input when it has so many."
    )
    compact_files: int = _limit(40, "files", "A table with more is compacted after a seal.")
    compact_bytes: int = _limit(128 * 2**20, "bytes", "Compaction makes files of that size.")
    checkpoint_commits: int = _limit(
        100, "commits", "A table gets a checkpoint of its log after so many."
    )
    clean_up_hours: int = _limit(24, "hours", "Maintenance cleans up as often, or by retention.")

    # Backfills and sinks.
    backfill_bytes: int = _limit(
        128 * 2**20,
        "bytes",
        "A view that reads more is backfilled beside the epochs, unless FLOODMARK_BACKFILL_BYTES "
        "says otherwise; one that reads less is filled in the epoch that creates it.",
    )
    backfill_threads: int = _limit(2, "threads", "So many views are backfilled side by side.")
    sink_file_rows: int = _limit(
        1_000_000, "rows", "Files of a sink have no more, unless its rows_per_file says otherwise."
    )
    sink_delta_rows: int = _limit(2_000_000, "rows", "The same of a sink to Delta.")
    sink_keys: int = _limit(
        100_000, "keys", "So many are looked for in the statistics of a sink's Delta table."
    )
    sink_tries: int = _limit(
        5, "times", "A commit to a Delta table that others write, too, is tried as often."
    )
    sink_pause_seconds: int = _limit(
        30, "seconds", "A sink that is out of reach rests so long after its second try."
    )
    sink_longest_pause_seconds: int = _limit(
        3_600, "seconds", "The rest doubles with each try, up to that."
    )

    # Spark's server.
    server_start_seconds: int = _limit(180, "seconds", "A server that starts is waited for.")
    server_answer_seconds: int = _limit(
        60, "seconds", "One that does not answer for so long is stuck, and stopped."
    )
    server_stop_seconds: int = _limit(15, "seconds", "One that stops is waited for, then killed.")
    server_archive_seconds: int = _limit(
        90, "seconds", "The same of one that writes an archive of its classes."
    )

    # What is shown.
    letters: int = _limit(
        100_000, "rows", "So many dead letters, the newest, are looked at for frequent reasons."
    )
    letters_piece: int = _limit(10_000, "rows", "They are read so many at a time.")
    low_disk_bytes: int = _limit(2 * 2**30, "bytes", "`floodmark doctor` warns of less space.")
    stalled_epochs: int = _limit(
        10, "epochs", "`floodmark doctor` warns of a watermark that stands still for so many."
    )


@dataclass(frozen=True, slots=True)
class Limit:
    """One number, as a person reads it."""

    name: str
    value: int
    unit: str
    doc: str


def each_limit(limits: Limits) -> Iterator[Limit]:
    """Yield every number with its unit and its sentence."""
    for f in fields(limits):
        yield Limit(f.name, getattr(limits, f.name), f.metadata["unit"], f.metadata["doc"])


LIMITS = Limits()
"""What holds unless somebody says otherwise."""
