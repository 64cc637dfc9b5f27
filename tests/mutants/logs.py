"""Planted bugs of the logs: what tells one history of a warehouse from another, and whole files."""

from __future__ import annotations

from tests.mutants.planted import Planted

_COMMITS = "tests/storage/delta/test_commits.py::"
_RECORDS = "tests/storage/records/test_records.py::"
_OLD = "tests/faults/test_old_logs.py::"
_LOST = "tests/faults/test_lost_commits.py::"
_ROLLBACK = "tests/faults/test_rollback.py::"
LOGS = (
    Planted(
        "an epoch of another record counts as done",
        "floodmark.storage.table:refuse_other_record",
        "stored is not None and stored != record",
        "stored is not None and record == stored + stored",
        (f"{_COMMITS}test_an_epoch_of_another_record_is_not_taken_for_done[delta]",),
    ),
    Planted(
        "a gap in a log is passed over",
        "floodmark.storage.logs.record_files:refuse_gaps",
        "len(numbers) != last - first + 1",
        "False",
        (f"{_RECORDS}test_the_head_sees_a_gap_without_reading_records",),
    ),
    Planted(
        "the checksum of a record is not compared",
        "floodmark.storage.records.text:_parse_envelope",
        "checksum != data['crc32c']",
        "len(checksum) != len(data['crc32c'])",
        (f"{_RECORDS}test_records_out_of_order_are_refused",),
    ),
    Planted(
        "the actions of a commit are not counted",
        "floodmark.storage.delta.commit:actions_of",
        "counted != len(actions)",
        "counted < 0",
        (f"{_COMMITS}test_a_damaged_newest_commit_is_refused",),
    ),
    Planted(
        "the log is not compared with the tables before anything is written",
        "floodmark.epochs.loop:EpochLoop._begin",
        "refuse_tables_ahead(self.warehouse.log, self.warehouse.store)",
        "pass",
        (f"{_OLD}test_a_log_that_was_copied_first_is_refused",),
    ),
    Planted(
        "a commit is on the disk before its data",
        "floodmark.storage.delta.store:DeltaStore._put_commit",
        "table.flush([file.path for file in adds])",
        "pass",
        (f"{_COMMITS}test_data_is_on_the_disk_before_the_commit_that_names_it",),
    ),
    Planted(
        "a table that has lost its newest commit is settled",
        "floodmark.storage.delta.store:DeltaStore.settle",
        "newest < version",
        "newest < 0",
        (f"{_LOST}test_a_table_that_no_epoch_touches_is_suspended[public/t]",),
    ),
    Planted(
        "an epoch that has written is taken back",
        "floodmark.epochs.version_rollback:take_back",
        "done is not None",
        "done == ''",
        (f"{_ROLLBACK}test_what_is_done_already_is_not_taken_back[written]",),
    ),
    Planted(
        "an epoch that is taken back begins its objects anew",
        "floodmark.storage.logs.epochs:EpochLog.open_record",
        "positions=undone.positions,",
        "positions=undone.positions, restarted=opened.restarted, backfills=opened.backfills,",
        (f"{_ROLLBACK}test_what_another_version_refuses_is_taken_back[True]",),
    ),
    Planted(
        "a sink writes over the files of another log",
        "floodmark.connectors.sinks.files:FilesSender._check_log",
        "number >= first",
        "number < 0",
        (
            "tests/connectors/sinks/test_senders_of_other_logs.py::"
            "test_a_folder_goes_on_once_the_files_of_lost_epochs_are_gone",
        ),
    ),
)
