"""What the files connector offers: order, cuts, pins, and what it refuses. No Spark."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.connectors.base import Connector, Discovery, SourceSpec, Split
from floodmark.connectors.registry import make_connector
from floodmark.errors import DataError, UserError
from floodmark.limits import LIMITS
from floodmark.scalar.types import (
    BIGINT,
    INT,
    INTERVAL,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Field,
    SqlType,
    list_of,
    map_of,
    struct_of,
)

SCHEMA = (Field("id", BIGINT), Field("name", VARCHAR))


STRUCT = struct_of(("a", BIGINT), ("c", VARCHAR))


def source(folder: Path, encode: str, schema=SCHEMA, **options: str) -> Connector:
    options = {"connector": "files", "path": str(folder), **options}
    return make_connector(SourceSpec("s", schema, "PLAIN", encode, options), limits=LIMITS)


def parquet(path: Path, ids: list[int], type_: pa.DataType | None = None) -> None:
    names = [f"n{i}" for i in ids]
    table = pa.table({"id": pa.array(ids, type_ or pa.int64()), "name": names})
    pq.write_table(table, path, row_group_size=4)


def drain(connector: Connector, limit: int, discovery: Discovery | None = None) -> list[Split]:
    discovery, taken, logged = discovery or Discovery(), {}, []
    while splits := connector.discover_splits(taken, limit, discovery):
        discovery.add(splits)
        taken = {0: splits[-1].end}
        logged.extend(splits)
    return logged


def test_files_come_by_name_and_temporary_ones_not_at_all(tmp_path: Path) -> None:
    for name in ("b", "a", "_hidden", ".hidden"):
        parquet(tmp_path / f"{name}.parquet", [1, 2])
    parquet(tmp_path / "c.parquet.tmp", [1])
    (tmp_path / "empty.parquet").touch()
    splits = source(tmp_path, "PARQUET").discover_splits({}, 100)
    assert [(s.payload["file"], s.start, s.end) for s in splits] == [
        ("a.parquet", 0, 2),
        ("b.parquet", 2, 4),
    ]
    assert all(s.partition_end for s in splits)


def test_a_late_name_that_sorts_first_is_still_found(tmp_path: Path) -> None:
    parquet(tmp_path / "b.parquet", [1, 2])
    connector, discovery = source(tmp_path, "PARQUET"), Discovery()
    discovery.add(connector.discover_splits({}, 100, discovery))
    assert connector.discover_splits({0: 2}, 100, discovery) == ()
    parquet(tmp_path / "a.parquet", [3])
    (late,) = connector.discover_splits({0: 2}, 100, discovery)
    assert (late.payload["file"], late.start, late.end) == ("a.parquet", 2, 3)


@pytest.mark.parametrize("limit", [1, 3, 7, 10, 1000])
def test_cuts_cover_every_row_once(tmp_path: Path, limit: int) -> None:
    parquet(tmp_path / "a.parquet", list(range(10)))
    parquet(tmp_path / "b.parquet", [])
    parquet(tmp_path / "c.parquet", list(range(5)))
    splits = drain(source(tmp_path, "PARQUET"), limit)
    assert splits[0].start == 0 and splits[-1].end == 15
    assert all(a.end == b.start for a, b in pairwise(splits))
    rows = {"a.parquet": 0, "b.parquet": 0, "c.parquet": 0}
    for split in splits:
        assert split.payload["row"] == rows[split.payload["file"]]
        rows[split.payload["file"]] += split.end - split.start
    assert rows == {"a.parquet": 10, "b.parquet": 0, "c.parquet": 5}


def test_discovery_survives_its_json_form(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", list(range(10)))
    connector = source(tmp_path, "PARQUET")
    first = connector.discover_splits({}, 4)
    assert not first[-1].partition_end
    again = Discovery.from_json(Discovery(first).as_json())
    assert connector.discover_splits({0: 4}, 100, again) == connector.discover_splits(
        {0: 4}, 100, Discovery(first)
    )
    assert Split.from_json(first[0].as_json()) == first[0]


def test_text_offsets_are_bytes_and_files_stay_whole(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id": 1}\n' * 1000)
    (tmp_path / "b.json").write_text('{"id": 2}\n')
    splits = drain(source(tmp_path, "JSON"), 10)
    assert [(s.start, s.end) for s in splits] == [(0, 10_000), (10_000, 10_010)]


def test_a_file_that_changes_while_it_is_cut_is_an_error(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", list(range(10)))
    connector = source(tmp_path, "PARQUET")
    discovery = Discovery(connector.discover_splits({}, 4))
    os.utime(tmp_path / "a.parquet", (1, 1))
    with pytest.raises(DataError, match="E0476"):
        connector.discover_splits({0: 4}, 4, discovery)


@pytest.mark.parametrize(
    ("encode", "content", "reason"),
    [
        ("PARQUET", b"<html>", "not a Parquet file"),
        ("JSON", b"PAR1....", "a Parquet file under another name"),
        ("JSON", b'[{"id": 1}]', "a JSON array"),
        ("JSON", b"id,name\n1,x\n", "no line starts with {"),
        ("CSV", "id,näme\n".encode("latin-1"), "not UTF-8"),
        ("CSV", "id,name\n".encode("utf-16"), "NUL bytes"),
        ("CSV", b"x,y\n1,2\n", "none of the declared columns"),
        ("CSV", b"id,id\n1,2\n", "the header has id twice"),
        ("CSV", b"foo\n", "the header has none of the declared columns, it has: foo"),
    ],
)
def test_a_file_of_another_kind_is_one_bad_row_or_an_error(
    tmp_path: Path, encode: str, content: bytes, reason: str
) -> None:
    (tmp_path / "x").write_bytes(content)
    (split,) = source(tmp_path, encode).discover_splits({5: 1, 0: 7}, 10)
    assert (split.start, split.end) == (7, 8)
    assert reason in split.payload["bad"]
    with pytest.raises(DataError, match="E0477"):
        source(tmp_path, encode, on_error="fail").discover_splits({}, 10)


@pytest.mark.parametrize("rows", [0, 3])
def test_a_parquet_file_with_none_of_the_columns_is_one_bad_row(tmp_path: Path, rows: int) -> None:
    pq.write_table(pa.table({"foo": list(range(rows))}), tmp_path / "a.parquet")
    pq.write_table(pa.table({}), tmp_path / "nothing.parquet")
    bad, nothing = source(tmp_path, "PARQUET").discover_splits({}, 10)
    assert bad.payload["bad"] == "the file has none of the declared columns, it has: foo"
    assert (bad.start, bad.end) == (0, 1) and "bad" not in nothing.payload


@pytest.mark.parametrize(
    "options",
    [{"compression": "brotli"}, {"use_byte_stream_split": ["id"], "use_dictionary": False}],
)
def test_a_file_that_only_others_than_spark_can_read_is_one_bad_row(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    content = {"id": pa.array([1, 2], pa.int32()), "x": ["a", "b"]}
    pq.write_table(pa.table(content), tmp_path / "a.parquet", **options)
    (split,) = source(tmp_path, "PARQUET").discover_splits({}, 10)
    assert re.match(
        r"Spark does not read (BROTLI|BYTE_STREAM_SPLIT) .column id", split.payload["bad"]
    )
    schema = (Field("x", VARCHAR),)
    if "compression" not in options:
        # What is not declared is not read.
        (split,) = source(tmp_path, "PARQUET", schema).discover_splits({}, 10)
        assert "bad" not in split.payload


@pytest.mark.parametrize(
    ("values", "declared"),
    [
        (pa.array([["1"]], pa.list_(pa.string())), list_of(BIGINT)),
        (pa.array([[1]], pa.list_(pa.int64())), list_of(INT)),
        (pa.array([[None]], pa.list_(pa.null())), list_of(VARCHAR)),
        (pa.array([{"a": "1"}], pa.struct({"a": pa.string()})), STRUCT),
        (pa.array([{"a": "1"}], pa.struct({"a": pa.string()})), list_of(BIGINT)),
        (pa.array([[("k", "v")]], pa.map_(pa.string(), pa.string())), map_of(VARCHAR, BIGINT)),
    ],
)
def test_a_nested_column_of_another_type_is_an_error(
    tmp_path: Path, values: pa.Array, declared: SqlType
) -> None:
    pq.write_table(pa.table({"c": values}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"E0478.*column c is declared"):
        source(tmp_path, "PARQUET", (Field("c", declared),)).discover_splits({}, 10)


@pytest.mark.parametrize(
    ("values", "declared"),
    [
        (pa.array(["a"], pa.string_view()), VARCHAR),
        (pa.array([[1]], pa.large_list(pa.int32())), list_of(BIGINT)),
        (pa.array([[1]], pa.list_view(pa.int64())), list_of(BIGINT)),
        (pa.array([[None], []], pa.list_(pa.null())), list_of(BIGINT)),
        (pa.array([{"A": 1, "b": 2}]), STRUCT),
    ],
)
def test_other_forms_of_the_declared_type_are_read(
    tmp_path: Path, values: pa.Array, declared: SqlType
) -> None:
    pq.write_table(pa.table({"c": values}), tmp_path / "a.parquet")
    (split,) = source(tmp_path, "PARQUET", (Field("c", declared),)).discover_splits({}, 10)
    assert not {"bad", "types"} & split.payload.keys()


def test_splits_of_broken_pages_are_marked_and_of_other_files_only_when_asked(
    tmp_path: Path,
) -> None:
    for name in ("a", "b", "c"):
        parquet(tmp_path / f"{name}.parquet", list(range(100)))
    connector = source(tmp_path, "PARQUET")
    splits = connector.discover_splits({}, 1000)
    assert connector.without_unreadable(splits, changed=True) == splits
    broken = tmp_path / "a.parquet"
    kept = broken.stat()
    broken.write_bytes(broken.read_bytes()[:4] + bytes(100) + broken.read_bytes()[104:])
    os.utime(broken, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    (tmp_path / "b.parquet").unlink()

    def bad(*, changed: bool) -> list[bool]:
        found = connector.without_unreadable(splits, changed=changed)
        assert [(s.start, s.end) for s in found] == [(s.start, s.end) for s in splits]
        return ["bad" in s.payload for s in found]

    assert bad(changed=False) == [True, False, False]
    assert bad(changed=True) == [True, True, False]
    with pytest.raises(DataError, match="E0477"):
        source(tmp_path, "PARQUET", on_error="fail").without_unreadable(splits, changed=False)


def test_a_changed_parquet_type_is_an_error_and_a_narrower_one_is_read(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", [1], pa.int32())
    (split,) = source(tmp_path, "PARQUET").discover_splits({}, 10)
    assert split.payload["types"] == {"id": "int"}
    with pytest.raises(
        DataError, match=r"E0478.*column id is declared integer, the file has int64"
    ):
        parquet(tmp_path / "a.parquet", [1])
        source(tmp_path, "PARQUET", (Field("id", INT),)).discover_splits({}, 10)
    nanos = pa.table({"ts": pa.array([datetime(2024, 1, 1)], pa.timestamp("ns"))})
    pq.write_table(nanos, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="microseconds"):
        source(tmp_path, "PARQUET", (Field("ts", TIMESTAMP),)).discover_splits({}, 10)


def test_bounds_come_from_the_row_groups_that_a_split_touches(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", list(range(12)))
    connector = source(tmp_path, "PARQUET")
    splits = drain(connector, 4)
    assert connector.bounds(splits, "id") == (0, 11)
    assert connector.bounds(splits[1:2], "id") == (4, 7)
    assert connector.bounds([], "id") is None


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        ({"connector": "file"}, "E0470", "did you mean files"),
        ({"pth": "x"}, "E0471", "did you mean path"),
        ({"csv.header": "maybe"}, "E0473", "write csv.header = 'true'"),
        ({"csv.delimiter": "::"}, "E0473", "write csv.delimiter = ';'"),
        *(({"csv.delimiter": mark}, "E0473", "csv.delimiter = ';'") for mark in '"\r\n\0'),
        ({"csv.delimiter": "|", "csv.quote": "|"}, "E0473", "csv.delimiter = ';'"),
        ({"csv.delimiter": "|", "csv.escape": "|"}, "E0473", "csv.delimiter = ';'"),
        *(({"csv.quote": mark}, "E0473", "write csv.quote") for mark in "\r\n\0😀"),
        *(({"csv.escape": mark}, "E0473", "write csv.escape") for mark in "\r\n\0😀"),
        ({"path": "s3://bucket/x"}, "E0473", "write path = 'landing/orders'"),
        ({"decimal.handling.mode": "precise"}, "E0471", "known: "),
        ({"max_rows_per_epoch": "0"}, "E0473", "write max_rows_per_epoch = '1000'"),
    ],
)
def test_wrong_options_are_refused(
    tmp_path: Path, options: dict[str, str], code: str, hint: str
) -> None:
    with pytest.raises(UserError, match=code) as refused:
        source(tmp_path, "CSV", **options)
    assert refused.value.hint is not None and hint in refused.value.hint


def test_what_cannot_be_served_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="E0472"):
        make_connector(
            SourceSpec("s", SCHEMA, "PLAIN", "CSV", {"connector": "files"}), limits=LIMITS
        )
    with pytest.raises(UserError, match="E0482"):
        source(tmp_path, "AVRO")
    with pytest.raises(UserError, match="E0479"):
        source(tmp_path, "CSV", (Field("i", INTERVAL),))
    with pytest.raises(UserError, match="E0479"):
        source(tmp_path, "JSON", (Field("i", list_of(struct_of(("x", INTERVAL)))),))
    with pytest.raises(DataError, match="E0475"):
        source(tmp_path / "missing", "CSV").discover_splits({}, 10)


@pytest.mark.parametrize(
    ("form", "encode", "metadata", "message"),
    [
        ("PLAIN", "CSV", Field("fname", VARCHAR), "did you mean file_name"),
        ("PLAIN", "CSV", Field("op", VARCHAR), "FORMAT PLAIN has no metadata 'op'"),
        ("UPSERT", "JSON", Field("ts", TIMESTAMPTZ), "FORMAT UPSERT has no metadata 'ts'"),
        ("DEBEZIUM", "JSON", Field("tabel", VARCHAR), "did you mean table"),
        ("DEBEZIUM", "JSON", Field("ts", BIGINT), "E0484.*timestamp with time zone"),
        ("PLAIN", "CSV", Field("row_number", INT), "E0484.*declare the column BIGINT"),
        ("DEBEZIUM", "CSV", None, "E0485.*ENCODE JSON"),
    ],
)
def test_metadata_is_what_the_format_has(
    tmp_path: Path, form: str, encode: str, metadata: Field | None, message: str
) -> None:
    options = {"connector": "files", "path": str(tmp_path)}
    asked = () if metadata is None else (metadata,)
    with pytest.raises(UserError) as raised:
        make_connector(
            SourceSpec("s", SCHEMA, form, encode, options, asked, ("id",)), limits=LIMITS
        )
    told = f"{raised.value.code} {raised.value.message} {raised.value.hint}"
    assert re.search(message, told), told


def test_only_files_have_messages() -> None:
    with pytest.raises(UserError, match="E0485"):
        make_connector(
            SourceSpec("s", SCHEMA, "UPSERT", "JSON", {"connector": "datagen"}), limits=LIMITS
        )


def test_odd_entries_of_a_folder_stop_no_other(tmp_path: Path) -> None:
    folder, data = tmp_path / "in", b'{"id": 1}\n'
    (folder / "below.json").mkdir(parents=True, mode=0o000)
    for name in (b"0.json", b"z.json", b"line\nbreak.json", b"caf\xe9.json"):
        Path(os.fsdecode(bytes(folder) + b"/" + name)).write_bytes(data)
    links = {"loop": "loop.json", "one": "other.json", "other": "one.json", "gone": "none.json"}
    links |= {"through": "0.json/x.json", "device": "/dev/null", "folder": str(tmp_path)}
    for link, target in links.items():
        (folder / f"{link}.json").symlink_to(target)
    os.mkfifo(folder / "pipe.json")
    with closing(socket.socket(socket.AF_UNIX)) as found:
        found.bind(str(folder / "socket.json"))
        splits = source(folder, "JSON").discover_splits({}, 100)
    bad = {s.payload["file"]: s.payload.get("bad") for s in splits}
    assert bad == {
        "0.json": None,
        "caf\\xe9.json": "its name is not UTF-8",
        "line\nbreak.json": None,
        "z.json": None,
    }


def test_a_file_that_became_a_link_in_a_circle_is_gone(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", [1])
    connector = source(tmp_path, "PARQUET")
    splits = connector.discover_splits({}, 10)
    (tmp_path / "a.parquet").unlink()
    (tmp_path / "a.parquet").symlink_to("a.parquet")
    assert "is gone" in (connector.find_change(splits) or "")
    (marked,) = connector.without_unreadable(splits, changed=True)
    assert "is gone" in marked.payload["bad"]


def test_a_link_through_a_closed_folder_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet(tmp_path / "a.parquet", [1])
    (tmp_path / "b.parquet").symlink_to("a.parquet")

    class Closed:
        """An entry of a listing that is not looked into."""

        name = "b.parquet"

        def is_symlink(self) -> bool:
            return True

        def is_file(self) -> bool:
            raise PermissionError(13, "Permission denied")

    @contextmanager
    def listed(folder: Path) -> Iterator[list[Any]]:
        with scandir(folder) as entries:
            yield [Closed() if entry.name == "b.parquet" else entry for entry in entries]

    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", listed)
    assert [s.payload["file"] for s in source(tmp_path, "PARQUET").discover_splits({}, 10)] == [
        "a.parquet"
    ]
