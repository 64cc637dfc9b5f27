"""What the files connector reads: offsets, corrupt rows, types; on Spark."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.connectors.base import Discovery, SourceSpec, Split
from floodmark.connectors.registry import make_connector
from floodmark.errors import DataError
from floodmark.limits import LIMITS, Limits
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    INT,
    JSONB,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    Field,
    list_of,
    numeric,
)

if TYPE_CHECKING:
    from floodmark.connectors.base import Connector
    from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark
SCHEMA = (Field("id", BIGINT), Field("name", VARCHAR))


NAME, NUMBER = Field("file_name", VARCHAR), Field("row_number", BIGINT)


def source(folder: Path, encode: str, schema=SCHEMA, *metadata: Field, **options: str) -> Connector:
    options = {"connector": "files", "path": str(folder), **options}
    return make_connector(
        SourceSpec("s", schema, "PLAIN", encode, options, metadata), limits=LIMITS
    )


def rows(sessions: Sessions, connector: Connector, splits: Any = None) -> list[dict[str, Any]]:
    splits = connector.discover_splits({}, 10**6) if splits is None else splits
    session = sessions.ingest if connector.reads_text else sessions.main
    found = connector.read_splits(session, splits).toArrow().to_pylist()
    return sorted(found, key=lambda row: row["__offset"])


def write_rows(path: Path, encode: str, ids: list[int]) -> None:
    match encode:
        case "PARQUET":
            pq.write_table(pa.table({"id": ids, "name": [f"n{i}" for i in ids]}), path)
        case "CSV":
            path.write_text("id,name\n" + "".join(f"{i},n{i}\n" for i in ids))
        case "JSON":
            path.write_text("".join(json.dumps({"id": i, "name": f"n{i}"}) + "\n" for i in ids))


@pytest.mark.parametrize("encode", ["PARQUET", "CSV", "JSON"])
def test_rows_keep_their_order_and_offsets_whatever_is_read_together(
    tmp_path: Path, sessions: Sessions, encode: str
) -> None:
    for number in range(12):
        # Names with characters that a URI or a glob would take for something else.
        ids = list(range(number * 10, number * 10 + 1 + number % 3))
        write_rows(tmp_path / f"f {number:02d} [ü+%20].x", encode, ids)
    connector = source(tmp_path, encode, SCHEMA, NAME, NUMBER)
    splits = connector.discover_splits({}, 10**6)
    together = rows(sessions, connector, splits)
    assert [r["id"] for r in together] == sorted(r["id"] for r in together)
    assert len(together) == 24
    assert len({r["__offset"] for r in together}) == 24
    assert {r["__metadata_file_name"] for r in together} == {s.payload["file"] for s in splits}
    assert all(s.start <= r["__offset"] < s.end for s in splits for r in together
               if r["__metadata_file_name"] == s.payload["file"])  # fmt: skip
    assert rows(sessions, connector, splits[5:6]) == [
        r for r in together if r["__metadata_file_name"] == splits[5].payload["file"]
    ]


def test_many_rows_find_their_file_by_a_join(tmp_path: Path, sessions: Sessions) -> None:
    for number in range(3):
        write_rows(tmp_path / f"{number}.json", "JSON", [number, number + 10])
    connector = source(tmp_path, "JSON", SCHEMA, NAME)
    small = rows(sessions, connector)
    joined = replace(connector, limits=Limits(file_lookups=0))  # type: ignore[type-var]
    assert rows(sessions, joined) == small


def test_a_cut_parquet_file_gives_each_row_once(tmp_path: Path, sessions: Sessions) -> None:
    write_rows(tmp_path / "a", "PARQUET", list(range(10)))
    connector, discovery, logged, seen = source(tmp_path, "PARQUET"), Discovery(), [], []
    while splits := connector.discover_splits({0: logged[-1].end} if logged else {}, 4, discovery):
        discovery.add(splits)
        logged.extend(splits)
        seen.extend(r["id"] for r in rows(sessions, connector, splits))
    assert seen == list(range(10))
    assert [r["id"] for r in rows(sessions, connector, logged)] == seen


JSON_LINES = [
    ('{"id": 1, "name": "a"}', 1, False),
    ('{"id": "2"}', 2, False),
    ("", None, None),
    ('{"id": 3', None, True),
    ('{"id": "x"}', None, True),
    ('{"id": 1.5}', None, True),
    ("[1]", None, True),
    ("null", None, True),
    ('{"id": 9, "more": {"x": 1}}', 9, False),
    ('{"id": 10, "name": "}"} \t', 10, False),
    ('{"id": 1} garbage', None, True),
    ('{"id": 1}{"id": 2}', None, True),
    ('{"id": 1, "more": {}}, {"id": 2}', None, True),
    ('{"id": 1}]', None, True),
    ("{'id': 1}", None, True),
    ("{id: 1}", None, True),
    ('{"id": 01}', None, True),
    ('{"id": 1, "more": [NaN]}', None, True),
]


def test_a_bad_json_line_is_one_corrupt_row_with_its_place(
    tmp_path: Path, sessions: Sessions
) -> None:
    (tmp_path / "a.json").write_text("\n".join(line for line, _, _ in JSON_LINES))
    expected = [(i, x) for i, x in enumerate(JSON_LINES) if x[2] is not None]
    for row, (number, (line, id_, corrupt)) in zip(
        rows(sessions, source(tmp_path, "JSON")), expected, strict=True
    ):
        assert row["__offset"] == number
        assert row["__corrupt"] == (line if corrupt else None)
        assert (row["__file"], row["__line"]) == (f"{tmp_path.name}/a.json", number + 1)
        assert corrupt or row["id"] == id_


def test_json_keys_are_found_in_other_case(tmp_path: Path, sessions: Sessions) -> None:
    lines = ['{"ID": 1, "Name": "a"}', '{"id": 2, "Name": null, "name": "b"}', '{"Id": 3}']
    (tmp_path / "a.json").write_text("\n".join(lines))
    found = rows(sessions, source(tmp_path, "JSON"))
    assert [(r["id"], r["name"]) for r in found] == [(1, "a"), (2, "b"), (3, None)]


def test_csv_cells_are_found_by_header_and_bad_lines_go_aside(
    tmp_path: Path, sessions: Sessions
) -> None:
    (tmp_path / "a.csv").write_text('id,name\n1,"a,""q"""\n2,\nx,b\n3\n4,"open\n\n5,e\n')
    (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbfNAME;more;ID\r\nz;0;7\r\n")
    (tmp_path / "c.csv").write_bytes(b"id,name\n8,\xff\n")
    found = rows(sessions, source(tmp_path, "CSV", match_pattern="[ac].csv"))
    good = [(r["id"], r["name"]) for r in found if r["__corrupt"] is None]
    assert good == [(1, 'a,"q"'), (2, None), (5, "e")]
    places = [f"{r['__file']}:{r['__line']}" for r in found if r["__corrupt"] is not None]
    assert places == [
        f"{tmp_path.name}/{place}" for place in ("a.csv:4", "a.csv:5", "a.csv:6", "c.csv:2")
    ]
    other = source(tmp_path, "CSV", match_pattern="b*", **{"csv.delimiter": ";"})
    assert [(r["id"], r["name"]) for r in rows(sessions, other)] == [(7, "z")]


def test_text_becomes_every_type(tmp_path: Path, sessions: Sessions) -> None:
    texts = {
        "ts": (TIMESTAMP, "2013-01-01T05:15:00+01:00", datetime(2013, 1, 1, 4, 15)),
        "tz": (TIMESTAMPTZ, "2013-01-01 05:15:00.5", None),
        "amount": (numeric(18, 2), 12.345, Decimal("12.35")),
        "d": (DATE, "2013-01-01", date(2013, 1, 1)),
        "b": (BOOLEAN, True, True),
        "j": (JSONB, {"b": 1, "a": [1]}, '{"a":[1],"b":1}'),
        "u": (UUID, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
              "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        "tm": (TIME, "10:00", 36_000_000_000),
        "raw": (BYTEA, "\\xdead", b"\xde\xad"),
        "l": (list_of(INT), [1, 2], [1, 2]),
    }  # fmt: skip
    schema = tuple(Field(name, type_) for name, (type_, _, _) in texts.items())
    good = {name: value for name, (_, value, _) in texts.items()}
    bad = [{**good, name: "12:30" if name == "ts" else "?"} for name in texts]
    (tmp_path / "a.json").write_text("\n".join(json.dumps(line) for line in [good, *bad]))
    first, *others = rows(sessions, source(tmp_path, "JSON", schema))
    for name, (_, _, value) in texts.items():
        assert value is None or first[name] == value, name
    assert first["tz"].timestamp() == 1357017300.5
    assert first["__corrupt"] is None
    assert [name for name, row in zip(texts, others, strict=True) if row["__corrupt"] is None] == []


def test_parquet_files_of_several_forms_are_read_as_declared(
    tmp_path: Path, sessions: Sessions
) -> None:
    schema = (Field("id", BIGINT), Field("ts", TIMESTAMP), Field("amount", numeric(18, 2)))
    moment = datetime(2024, 1, 1)
    tables = [
        pa.table({"id": pa.array([1], pa.int32()), "ts": pa.array([moment], pa.timestamp("us"))}),
        pa.table({"ID": [2], "ts": pa.array([moment], pa.timestamp("us", "UTC")), "x": ["more"]}),
        pa.table({"id": [3], "amount": pa.array([Decimal("1.5")], pa.decimal128(5, 1))}),
        pa.table({"id": [4], "amount": pa.array([7], pa.int32()), "ts": pa.nulls(1)}),
    ]
    for number, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    (tmp_path / "4.parquet").write_text("not one")
    found = rows(sessions, source(tmp_path, "PARQUET", schema))
    assert [(r["id"], r["ts"], r["amount"]) for r in found[:4]] == [
        (1, moment, None),
        (2, moment, None),
        (3, None, Decimal("1.50")),
        (4, None, Decimal("7.00")),
    ]
    assert (found[4]["__file"], found[4]["__line"]) == (f"{tmp_path.name}/4.parquet", None)
    assert found[4]["__corrupt"].startswith("unreadable file: not a Parquet file")


def test_nothing_reads_as_no_rows_and_a_changed_file_not_at_all(
    tmp_path: Path, sessions: Sessions
) -> None:
    connector = source(tmp_path, "PARQUET")
    assert rows(sessions, connector, ()) == []
    write_rows(tmp_path / "a", "PARQUET", [1])
    splits: tuple[Split, ...] = connector.discover_splits({}, 10)
    os.utime(tmp_path / "a", (1, 1))
    with pytest.raises(DataError, match="E0476"):
        rows(sessions, connector, splits)
    (tmp_path / "a").unlink()
    with pytest.raises(DataError, match="is gone"):
        rows(sessions, connector, splits)


def test_lines_with_none_of_the_declared_columns_are_no_rows(
    tmp_path: Path, sessions: Sessions
) -> None:
    lines = ['{"foo": 1, "bar": {"id": 1}}', "{}", '{"ID": null, "x": 1}', '{"id": 2}']
    (tmp_path / "a.json").write_text("\n".join(lines) + "\n")
    schema = (*SCHEMA, Field("more", list_of(BIGINT)))
    found = rows(sessions, source(tmp_path, "JSON", schema))
    assert [row["__corrupt"] for row in found] == [lines[0], None, None, None]
    said = "the line has none of the declared columns, it has: foo, bar"
    assert [row["__reason"] for row in found] == [said, None, None, None]
    assert [row["id"] for row in found] == [None, None, None, 2]


def test_a_header_alone_is_read_as_no_rows(tmp_path: Path, sessions: Sessions) -> None:
    (tmp_path / "a.csv").write_text("id,name\n")
    connector = source(tmp_path, "CSV")
    assert rows(sessions, connector) == []
    (tmp_path / "b.csv").write_text("id,name\n1,x\n")
    assert [row["id"] for row in rows(sessions, connector)] == [1]


@pytest.mark.parametrize("encode", ["PARQUET", "CSV", "JSON"])
def test_names_with_breaks_and_marks_are_read(
    tmp_path: Path, sessions: Sessions, encode: str
) -> None:
    names = [
        "a\nb.x",
        "a\rb.x",
        "a\tb.x",
        "a\\b.x",
        "a'b\".x",
        "a:b.x",
        "c?#.x",
        "a,b;.x",
        "a\x7f.x",
    ]
    for i, name in enumerate(names):
        write_rows(tmp_path / name, encode, [i])
    write_rows(tmp_path / "a:b?.x", encode, [1])
    connector = source(tmp_path, encode, SCHEMA, NAME)
    found = rows(sessions, connector)
    assert {row["__file"].partition("/")[2]: row["id"] for row in found} == {
        **{name: i for i, name in enumerate(names)},
        "a:b?.x": None,
    }
    (letter,) = [row["__corrupt"] for row in found if row["id"] is None]
    assert "Spark reads no path with both : and one of" in letter


@pytest.mark.parametrize("mark", ["\\", "😀", "\t", " ", "|", ".", "'", "#"])
@pytest.mark.parametrize("marks", [{}, {"csv.quote": "", "csv.escape": ""}])
def test_any_delimiter_that_is_taken_is_read(
    tmp_path: Path, sessions: Sessions, mark: str, marks: dict[str, str]
) -> None:
    (tmp_path / "a.csv").write_text(f"id{mark}name\n1{mark}x\n2{mark}y\n")
    connector = source(tmp_path, "CSV", **{"csv.delimiter": mark, **marks})
    assert [(row["id"], row["name"]) for row in rows(sessions, connector)] == [(1, "x"), (2, "y")]


def test_quotes_are_text_where_there_is_no_quote(tmp_path: Path, sessions: Sessions) -> None:
    (tmp_path / "a.csv").write_text('id,name\n1,"x\n2,"y"\n')
    found = rows(sessions, source(tmp_path, "CSV", **{"csv.quote": ""}))
    assert [(row["id"], row["name"]) for row in found] == [(1, '"x'), (2, '"y"')]
