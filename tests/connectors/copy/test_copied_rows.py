"""Files of COPY are read by Arrow where that says what the exact reader says, in pieces."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings, strategies as st

from floodmark.connectors.copy import csv as copied_csv, json_lines as copied_json
from floodmark.connectors.copy.blocks import Block, blocks
from floodmark.connectors.copy.file import CopyFile, copy_file
from floodmark.connectors.copy.rows import pieces, read_rows
from floodmark.connectors.copy.values import NoValue, parse_texts
from floodmark.errors import DataError
from floodmark.limits import LIMITS, Limits
from floodmark.scalar.types import Kind, SqlType

TYPES = {
    "i": SqlType(Kind.INT),
    "n": SqlType(Kind.NUMERIC, 10, 2),
    "v": SqlType(Kind.VARCHAR),
    "d": SqlType(Kind.DATE),
    "t": SqlType(Kind.TIMESTAMP),
    "z": SqlType(Kind.TIMESTAMPTZ),
    "f": SqlType(Kind.DOUBLE),
    "b": SqlType(Kind.BOOLEAN),
    "u": SqlType(Kind.UUID),
}
TEXTS = (
    *("", "0", "-1", "007", " 5", "+3", "2147483648", "1.5", "1.005", "-.5", "1e3", "NaN", "x"),
    *("2024-01-31", "2024-02-30", "0000-01-01", "10000-01-01", "2024-01-31 10:00:00", "t", "no"),
    *("2024-01-31T10:00:00.123456", "2024-01-31 10:00:00+02", "1969-12-31 23:59:59.9", "null"),
    *('a "b"', "a,b", "a\nb", "é\r", "6f1c2f0e-5b1f-4f2e-9a39-0e6f4b9b2a11", "-0", "-0.0", '"'),
)


def outcome(read: Callable[[], Any]) -> Any:
    """Return what a reader gives, or the words of its refusal."""
    try:
        return repr(read().to_pylist())
    except DataError as refused:
        return refused.message


@given(st.sampled_from(list(TYPES.values())), st.lists(st.sampled_from(TEXTS), max_size=6))
def test_texts_are_read_as_they_are_one_by_one(type_: SqlType, texts: list[str]) -> None:
    def said(read: Callable[[pa.Array, SqlType], pa.Array]) -> str:
        try:
            return repr(read(pa.array(texts, pa.string()), type_).to_pylist())
        except NoValue as problem:
            return f"{problem.place} {problem}"

    from floodmark.connectors.copy.values import _parse_each

    assert said(parse_texts) == said(_parse_each)


FIELD = st.one_of(
    st.sampled_from([t for t in TEXTS if not set(t) & set('",\n\r')]),
    st.sampled_from(TEXTS).map(lambda t: '"' + t.replace('"', '""') + '"'),
    st.text('",\n\r ab1', max_size=4),
)


@settings(max_examples=300)
@example(lines=['"",'], end="\n", null="", names=["v", "v2"])
@given(
    st.lists(st.lists(FIELD, min_size=1, max_size=3).map(",".join), max_size=4),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\\N", "null"]),
    st.sampled_from([["v"], ["i", "v"], ["v", "v2"], ["i", "n", "d"]]),
)
def test_csv_is_read_as_it_is_field_by_field(
    lines: list[str], end: str, null: str, names: list[str]
) -> None:
    types = {name: TYPES[name[0]] for name in names}
    file, block = (
        CopyFile(Path("a.csv"), "csv", null=null, limits=LIMITS),
        Block(1, end.join(lines).encode()),
    )
    quick = copied_csv._parse_fast(file, block, names, types)
    if quick is not None:
        assert repr(quick.to_pylist()) == outcome(
            lambda: copied_csv._parse_exact(file, block, names, types)
        )


VALUE = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**12), 10**12), st.sampled_from(TEXTS),
    st.floats(), st.lists(st.integers(), max_size=2), st.just({"a": 1}),
).map(json.dumps)  # fmt: skip
ROW = st.lists(st.tuples(st.sampled_from(["i", "n", "v", "f", "b", "d"]), VALUE), max_size=3).map(
    lambda pairs: "{" + ", ".join(f'"{k}": {v}' for k, v in pairs) + "}"
)


@settings(max_examples=300)
@example(['{"n": "2147483648"}'], "\n", [])
@example(['{"n": 100000000}'], "\n", [])
@given(
    st.lists(st.one_of(ROW, st.sampled_from(["", "null", "[1]", "{}{}", '{"i":', " {} "]))),
    st.sampled_from(["\n", "\r\n", "", " "]),
    st.sampled_from([[], ["i", "v"]]),
)
def test_json_is_read_as_it_is_value_by_value(
    lines: list[str], end: str, columns: list[str]
) -> None:
    types = {name: TYPES[name] for name in ("i", "n", "v", "f", "b", "d")}
    file, block = (
        CopyFile(Path("a.json"), "json", limits=LIMITS),
        Block(1, end.join(lines).encode()),
    )
    quick = copied_json._Reading(file, types, columns, set(columns))
    exact = copied_json._Reading(file, types, columns, set(columns))
    found = quick.parse_fast(block)
    if found is not None:
        assert repr(found.to_pylist()) == outcome(lambda: exact.parse_exact(block))
        assert quick.given == exact.given


@pytest.mark.parametrize("name", ["n", "f", "i"])
@pytest.mark.parametrize(
    "number",
    [
        "1e-9999999", "-1e-9999999", "1e9999999", "1e400", "-0.5E-00400", "9" * 400, "9" * 5000,
        "9" * 230 + "e90", "0." + "0" * 400 + "1", "1e99999999999999999999",
    ],
)  # fmt: skip
def test_a_number_that_no_type_holds_is_refused(tmp_path: Path, name: str, number: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"{name}": 1}}\n{{"{name}" : {number}}}\n')
    file, types = CopyFile(path, "json", limits=LIMITS), {name: TYPES[name]}
    if (name, number) in {("n", "-0.5E-00400"), ("n", "0." + "0" * 400 + "1")}:
        assert read_rows(file, types, []).to_pylist()[1][name] == 0
        return
    with pytest.raises(DataError, match=":2: ") as refused:
        read_rows(file, types, [])
    assert refused.value.code == "E0425"


def test_a_file_is_cut_between_records(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'\xef\xbb\xbf1,"a\nb"\n2,"c""\n\n"\n3,d\n4,"e\n')
    whole = path.read_bytes()[3:]
    for size in range(1, len(whole) + 3):
        limits = Limits(copy_block_bytes=max(size, 4))
        found = list(blocks(CopyFile(path, "csv", limits=limits), quoted=True))
        assert b"".join(b.data for b in found) == whole
        for block in found[:-1]:
            assert block.data.endswith(b"\n") and block.data.count(b'"') % 2 == 0
        for block in found:
            start = whole.index(block.data)
            assert block.line == 1 + whole[:start].count(b"\n")


def test_a_record_without_an_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path,
) -> None:
    limits = Limits(copy_record_bytes=100, copy_block_bytes=10)
    path = tmp_path / "a.csv"
    path.write_text('1\n"' + "x\n" * 200)
    with pytest.raises(DataError, match=":2: a record of more than") as refused:
        list(pieces(CopyFile(path, "csv", limits=limits), {"v": TYPES["v"]}, [], set()))
    assert refused.value.code == "E0425"


def test_lines_are_counted_over_blocks(tmp_path: Path) -> None:
    limits = Limits(copy_block_bytes=8)
    csv, lines = tmp_path / "a.csv", tmp_path / "a.json"
    csv.write_text('i,v\n1,"a\nb"\n2,c\nno,d\n')
    lines.write_text('{"i": 1}\n\n{"i": 2}\n{"i": "no"}\n')
    types = {name: TYPES[name] for name in ("i", "v")}
    with pytest.raises(DataError, match=":5: column \"i\": 'no' is not"):
        read_rows(CopyFile(csv, "csv", header=True, limits=limits), types, [])
    with pytest.raises(DataError, match=":4: column \"i\": 'no' is not"):
        read_rows(CopyFile(lines, "json", limits=limits), types, [])


def test_rows_without_a_column_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}\n{}\n")
    found, has = (
        list(pieces(CopyFile(path, "json", limits=LIMITS), TYPES, [], given := set[str]())),
        given,
    )
    assert (sum(piece.num_rows for piece in found), has) == (2, set())


@pytest.mark.parametrize(
    ("values", "type_", "place", "said"),
    [
        (pa.array([1, 2**40]), "i", 2, "not in range"),
        (pa.array([0, 2_932_897], pa.date32()), "d", 2, "the years are 1 to 9999"),
        (pa.array([0, -(2**62)], pa.timestamp("us")), "t", 2, "the years are 1 to 9999"),
        (pa.array(["1.5", "x"]), "n", 2, "'x' is not a value of type numeric"),
        (pa.array(["6f1c"]), "u", 1, "'6f1c' is not a value of type uuid"),
    ],
)
def test_a_value_of_parquet_that_the_type_does_not_hold_is_named(
    tmp_path: Path, values: pa.Array, type_: str, place: int, said: str
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"c": values}), path)
    with pytest.raises(DataError, match=f':{place}: column "c": .*{said}'):
        read_rows(CopyFile(path, "parquet", limits=LIMITS), {"c": TYPES[type_]}, [])


def test_a_damaged_page_is_no_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"v": [f"text {i}" for i in range(10_000)]}), path)
    data = bytearray(path.read_bytes())
    data[200:2000] = b"\xff" * 1800
    path.write_bytes(bytes(data))
    with pytest.raises(DataError) as refused:
        read_rows(CopyFile(path, "parquet", limits=LIMITS), {"v": TYPES["v"]}, [])
    assert refused.value.code == "E0425" and "damaged" in refused.value.message


def test_moments_are_utc() -> None:
    found = parse_texts(pa.array(["2024-01-31 10:00:00", "2024-01-31 10:00:00.5"]), TYPES["z"])
    assert [v.replace(tzinfo=None) for v in found.to_pylist()] == [
        datetime(2024, 1, 31, 10), datetime(2024, 1, 31, 10, 0, 0, 500_000),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, kind: str) -> None:
    places = {"pipe": tmp_path / "pipe", "device": Path(os.devnull), "folder": tmp_path}
    os.mkfifo(places["pipe"])
    with pytest.raises(DataError, match=r"E0424.*no regular file"):
        copy_file(str(places[kind]), (), None, limits=LIMITS)
