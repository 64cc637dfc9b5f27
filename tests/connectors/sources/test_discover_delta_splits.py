"""Which files of a Delta table come next: whole commits, what is passed over, what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from floodmark.connectors.base import Connector, Discovery, SourceSpec, Split
from floodmark.connectors.registry import connector_of, make_connector
from floodmark.errors import FloodmarkError, OutOfReach
from floodmark.limits import LIMITS
from floodmark.scalar.types import INT, VARCHAR, Field
from tests.program_reference import compile_sql

SCHEMA = (Field("k", INT), Field("v", VARCHAR))
FEED = {"delta.enableChangeDataFeed": "true"}


def rows(*pairs: tuple[int, str]) -> pa.Table:
    """Return rows of the table."""
    keys, values = zip(*pairs, strict=True)
    return pa.table({"k": pa.array(keys, pa.int32()), "v": pa.array(values, pa.string())})


def add(folder: Path, *pairs: tuple[int, str], **options: Any) -> None:
    """Append rows in one commit."""
    write_deltalake(str(folder), rows(*pairs), mode="append", **options)


def source(folder: Path, **options: str) -> Connector:
    """Return the connector of a source."""
    named = {"connector": "delta", "path": str(folder), **options}
    format_ = "UPSERT" if options.get("mode") == "change_feed" else "PLAIN"
    return make_connector(SourceSpec("s", SCHEMA, format_, "", named, (), ("k",)), limits=LIMITS)


class Reader:
    """What epochs have logged of a source."""

    def __init__(self, connector: Connector) -> None:
        self.connector = connector
        self.logged: list[Split] = []

    def next(self, limit: int = 1000) -> list[tuple[int, str, int]]:
        """Take in what is on offer: version, kind and rows of each file."""
        end = self.logged[-1].end if self.logged else 0
        found = self.connector.discover_splits({0: end}, limit, Discovery(_again(self.logged)))
        for split in found:
            assert split.start == end
            end = split.end
        self.logged += found
        return [(s.payload["version"], s.payload["kind"], s.estimate) for s in found]


def _again(splits: Sequence[Split]) -> list[Split]:
    return [Split.from_json(json.loads(json.dumps(s.as_json()))) for s in splits]


def code_of(call: Any) -> str:
    with pytest.raises(FloodmarkError) as refused:
        call()
    assert refused.value.hint
    return refused.value.code


def test_all_rows_come_first_and_then_commits(tmp_path: Path) -> None:
    add(tmp_path, (1, "a"), (2, "b"))
    add(tmp_path, (3, "c"))
    reader = Reader(source(tmp_path))
    assert sorted(reader.next()) == [(1, "add", 1), (1, "add", 2)]
    assert reader.next() == []
    add(tmp_path, (4, "d"))
    add(tmp_path, (5, "e"), (6, "f"))
    assert reader.next() == [(2, "add", 1), (3, "add", 2)]
    assert reader.next() == []


def test_a_snapshot_may_take_several_epochs_a_commit_takes_one(tmp_path: Path) -> None:
    for number in range(4):
        add(tmp_path, (number, "x"))
    reader = Reader(source(tmp_path))
    found = [reader.next(limit=1) for _ in range(3)]
    add(tmp_path, (9, "y"), (10, "y"))
    found += [reader.next(limit=1) for _ in range(3)]
    assert [len(f) for f in found] == [1, 1, 1, 1, 1, 0]
    assert [f[0][0] for f in found[:5]] == [3, 3, 3, 3, 4]
    assert len({s.payload["path"] for s in reader.logged}) == 5


def test_commits_from_a_version_on(tmp_path: Path) -> None:
    for number in range(3):
        add(tmp_path, (number, "x"))
    assert Reader(source(tmp_path, starting_version="1")).next() == [(1, "add", 1), (2, "add", 1)]
    late = Reader(source(tmp_path, starting_version="4"))
    assert late.next() == []
    add(tmp_path, (7, "x"))
    add(tmp_path, (8, "x"))
    assert late.next() == [(4, "add", 1)]


def test_files_that_were_merged_are_passed_over(tmp_path: Path) -> None:
    for number in range(3):
        add(tmp_path, (number, "x"))
    reader = Reader(source(tmp_path))
    reader.next()
    DeltaTable(str(tmp_path)).optimize.compact()
    assert reader.next() == []
    add(tmp_path, (7, "x"))
    assert reader.next() == [(4, "add", 1)]


def test_a_commit_that_takes_rows_away_is_refused_after_those_before_it(tmp_path: Path) -> None:
    add(tmp_path, (1, "a"), (2, "b"))
    reader, passing, skipping = (
        Reader(source(tmp_path, **options))
        for options in ({}, {"ignore_deletes": "true"}, {"skip_change_commits": "true"})
    )
    for each in (reader, passing, skipping):
        each.next()
    add(tmp_path, (3, "c"))
    DeltaTable(str(tmp_path)).delete()
    assert reader.next() == [(1, "add", 1)]
    assert code_of(reader.next) == "E0488"
    add(tmp_path, (4, "d"), (5, "e"))
    assert passing.next() == [(1, "add", 1), (3, "add", 2)]
    DeltaTable(str(tmp_path)).delete("k = 4")
    assert code_of(passing.next) == "E0488"
    assert skipping.next() == [(1, "add", 1), (3, "add", 2)]


def test_a_change_feed_tells_what_went_before_what_came(tmp_path: Path) -> None:
    add(tmp_path, (1, "a"), (2, "b"), configuration=FEED)
    reader = Reader(source(tmp_path, mode="change_feed"))
    assert reader.next() == [(0, "add", 2)]
    DeltaTable(str(tmp_path)).update(updates={"v": "'z'"}, predicate="k = 1")
    add(tmp_path, (3, "c"))
    assert [(v, kind) for v, kind, _ in reader.next()] == [(1, "cdc-"), (1, "cdc+"), (2, "add")]


def test_without_a_feed_files_that_went_say_which_rows_did(tmp_path: Path) -> None:
    add(tmp_path, (1, "a"), (2, "b"))
    reader = Reader(source(tmp_path, mode="change_feed"))
    reader.next()
    DeltaTable(str(tmp_path)).delete("k = 1")
    assert reader.next() == [(1, "remove", 2), (1, "add", 1)]


def test_a_table_that_is_not_there_is_out_of_reach(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(OutOfReach) as refused:
            Reader(source(folder)).next()
        assert refused.value.code == "E0486"


def test_what_was_vacuumed_is_said(tmp_path: Path) -> None:
    add(tmp_path, (1, "a"))
    reader = Reader(source(tmp_path, mode="change_feed"))
    reader.next()
    write_deltalake(str(tmp_path), rows((2, "b")), mode="overwrite")
    add(tmp_path, (3, "c"))
    DeltaTable(str(tmp_path)).vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert code_of(reader.next) == "E0489"
    (tmp_path / "_delta_log" / f"{1:020}.json").unlink()
    assert code_of(reader.next) == "E0489"
    assert code_of(lambda: reader.connector.check(reader.logged)) == "E0489"


def test_a_snapshot_is_read_from_a_checkpoint(tmp_path: Path) -> None:
    add(tmp_path, (1, "a"))
    add(tmp_path, (2, "b"))
    DeltaTable(str(tmp_path)).create_checkpoint()
    add(tmp_path, (3, "c"))
    for version in (0, 1):
        (tmp_path / "_delta_log" / f"{version:020}.json").unlink()
    assert len(Reader(source(tmp_path)).next()) == 3
    assert code_of(Reader(source(tmp_path, starting_version="1")).next) == "E0489"


MASKED = {"add": {"path": "x.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1,
                  "dataChange": True, "deletionVector": {"storageType": "u"}}}  # fmt: skip
FEATURE = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7,
                        "readerFeatures": ["rowsOnTheMoon"], "writerFeatures": []}}  # fmt: skip


@pytest.mark.parametrize("action", [MASKED, FEATURE], ids=["deletion vector", "feature"])
def test_what_cannot_be_read_is_refused(tmp_path: Path, action: dict[str, Any]) -> None:
    add(tmp_path, (1, "a"))
    reader = Reader(source(tmp_path))
    reader.next()
    (tmp_path / "_delta_log" / f"{1:020}.json").write_text(json.dumps(action) + "\n")
    assert code_of(reader.next) == "E0487"


def test_partitions_are_read_by_their_values(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), rows((1, "a b"), (2, "c")), partition_by=["v"])
    reader = Reader(source(tmp_path))
    assert [n for _, _, n in reader.next()] == [1, 1]
    assert {s.payload["values"]["v"] for s in reader.logged} == {"a b", "c"}
    reader.connector.check(reader.logged)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("mode = 'change_feed') FORMAT DEBEZIUM ENCODE JSON", "E0485"),
        (") FORMAT UPSERT ENCODE JSON", "E0485"),
        ("mode = 'change_feed')", None),
        ("mode = 'change_feed') FORMAT UPSERT ENCODE PARQUET", None),
        (") FORMAT PLAIN ENCODE PARQUET", None),
    ],
)
def test_formats_that_say_nothing_are_refused(sql: str, code: str | None) -> None:
    made = compile_sql(
        f"CREATE TABLE s (k INT PRIMARY KEY) WITH (connector = 'delta', path = 'p', {sql}"
    )
    if code is None:
        connector_of(made["s"], limits=LIMITS)
    else:
        assert code_of(lambda: connector_of(made["s"], limits=LIMITS)) == code


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"mode": "feed"}, "E0473"),
        ({"starting_version": "-1"}, "E0473"),
        ({"mode": "change_feed", "ignore_deletes": "true"}, "E0473"),
        ({"pth": "x"}, "E0471"),
        ({"path": "s3://bucket/x"}, "E0473"),
    ],
)
def test_options_that_do_not_do(tmp_path: Path, options: dict[str, str], code: str) -> None:
    assert code_of(lambda: source(tmp_path, **options)) == code


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    table = pa.table({"k": pa.array(["x"]), "v": pa.array(["x"])})
    write_deltalake(str(tmp_path), table)
    assert code_of(Reader(source(tmp_path)).next) == "E0478"
