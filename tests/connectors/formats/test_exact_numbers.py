"""Numbers of text sources are what the file writes, of every type, format and length; on Spark."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from floodmark.connectors.base import SourceSpec
from floodmark.connectors.registry import make_connector
from floodmark.limits import LIMITS
from floodmark.scalar.casts import from_text
from floodmark.scalar.functions.model import RowError
from floodmark.scalar.types import (
    BYTEA,
    DOUBLE,
    INT,
    JSONB,
    REAL,
    TIME,
    UUID,
    VARCHAR,
    Field,
    SqlType,
    list_of,
    map_of,
    numeric,
    struct_of,
)

if TYPE_CHECKING:
    from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark
TYPES = {"n": numeric(20, 2), "w": numeric(38, 12), "f": DOUBLE, "r": REAL, "v": VARCHAR}
EDGES = (
    *("99999999999999.99", "9007199254740993.01", "1234567890123.1234567891", "0.005", "-0.005"),
    *("99999999.995", "-0", "-0.0", "0", "1e3", "1E+3", "1.10", "-1.50e-1", "1e-9999999", "1e400"),
    *("-1e-999999999", "1e-16383", "1e-16384", "0.1e-16383", "0e-12", "1e999999999"),
    *("9223372036854775807", "1.0", "10e0"),
    *("1.00000017881393432617187499", "1.00000017881393432617187501", "16777217.0", "0.1", "1e-46"),
    *("9999999.12345678", "9999999.123456789", "12345678.5", "0.001", "0.00099", "-0.5", "7.10"),
    *("3.4028235e38", "3.40282356e38", "3.40282357e38", "1e39", "7e-46", "7.1e-46", "2e-324"),
    *("9" * 38, "0." + "9" * 38, "-" + "9" * 18 + ".995", "1." + "0" * 500 + "1", "9" * 400),
)
ODD = (
    *("NaN", "nan", "Infinity", "-Infinity", "inf", "+inf", " -INF", "+1.5", " 1.5 ", "1.", ".5"),
    *("1.5f", "1.5D ", "0x1p3", "infinityf", "1_0", "", "x", "1e400", "-1e-400", "0e400"),
)
"""Texts that REAL and DOUBLE may be written as."""
OBJECTS = (
    *('{"a":1,"a":2}', '{"a":{"x":1,"x":null},"b":[{"q":1,"q":"2"}]}', '{"a":1,"\\u0061":2}'),
    *("[1e400]", "[-1e400]", "[1e-400]", "[0e-400,-0.0e999,0,-0]", "[1e308,5e-324]", '["inf"]'),
    *('["Infinity",1e400]', '["1e400\\"1e400",1]', '{"1e400":"-1e400"}', "[12E+0000000002]"),
    *(f"[{'9' * 400}]", f"[0.{'0' * 400}1]", f"[0.{'0' * 400}]", f"[1{'0' * 200}e200]"),
)
"""JSON that tells engines apart: doubled keys, and numbers at the ends of the doubles."""


def numbers() -> list[str]:
    """Return the edges, and numbers of random digits as JSON writes them."""
    chance, found = random.Random(7), list(EDGES)
    for _ in range(150):
        digits = "".join(chance.choices("0123456789", k=chance.randint(1, 38))).lstrip("0") or "0"
        point = chance.randint(1, len(digits))
        whole, fraction = digits[:point], digits[point:] + "0" * chance.choice((0, 0, 2))
        power = chance.choice(("", "", "", f"e{chance.randint(-40, 20)}", "E+05", "e-007"))
        found.append(
            chance.choice(("", "-")) + whole + (f".{fraction}" if fraction else "") + power
        )
    return found


ID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
NESTED: list[tuple[SqlType, str, Any]] = [
    (list_of(VARCHAR), '["a",1.10,1e3,-0,null,{"x":1.10},"\\u00e91.50"]',
     ["a", "1.10", "1e3", "-0", None, '{"x":1.10}', "é1.50"]),
    (list_of(VARCHAR), "1.10", None),
    (list_of(list_of(UUID)), f'[["{ID.upper()}"],null,[null]]', [[ID], None, [None]]),
    (list_of(UUID), '["a"]', None),
    (list_of(INT), '[1,-0,null,"7"]', [1, 0, None, 7]),
    (list_of(INT), "[1.5]", None),
    (list_of(REAL), '[0.1,"-inf"]', [0.10000000149011612, float("-inf")]),
    (list_of(REAL), "[1e39]", None),
    (list_of(TIME), '["10:00"]', [36_000_000_000]),
    (list_of(BYTEA), '["\\\\xdead"]', [b"\xde\xad"]),
    (list_of(JSONB), '[{"b":1.50,"a":{"x":1,"x":2}}]', ['{"a":{"x":2},"b":1.5}']),
    (list_of(JSONB), "[[1e400]]", None),
    (struct_of(("x", VARCHAR), ("X", VARCHAR), ("n", numeric(4, 1))), '{"x":1.10,"X":"b","n":1.25}',
     {"x": "1.10", "X": "b", "n": Decimal("1.3")}),
    (struct_of(("x", VARCHAR), ("n", numeric(4, 1))), '{"n":1000}', None),
    (struct_of(("x", VARCHAR), ("y", INT)), "{}", {"x": None, "y": None}),
    (map_of(VARCHAR, VARCHAR), '{"a":1.10,"b":null,"a":2.50}', [("b", None), ("a", "2.50")]),
    (map_of(INT, list_of(VARCHAR)), '{"1":[1.0],"01":[2.0]}', [(1, ["2.0"])]),
    (map_of(INT, VARCHAR), '{"x":1}', None),
    (list_of(struct_of(("m", map_of(VARCHAR, REAL)))), '[{"m":{"k":1.5}},null,{}]',
     [{"m": [("k", 1.5)]}, None, {"m": None}]),
]  # fmt: skip
"""Types with parts, a text in JSON, and the value that it is; None where it is none."""


def value_of(text: str, type_: SqlType) -> Any:
    """Return the value of a type that a number's text is, None where it is none."""
    if type_ == VARCHAR:
        return text
    return read_text(text, type_)


def read_text(text: str, type_: SqlType) -> Any:
    """Return what a cast of the text gives without Spark, None where it is refused."""
    try:
        return from_text(text, type_)
    except RowError:
        return None


def plain(row: str) -> str:
    return row


def keyed(row: str) -> str:
    identity = json.loads(row)["id"]
    return f'{{"key": {{"id": {identity}}}, "value": {row}}}'


def created(row: str) -> str:
    return f'{{"before": null, "after": {row}, "op": "c"}}'


def enveloped(row: str) -> str:
    return f'{{"payload": {{"before": {row}, "after": {row}, "op": "u"}}}}'


def read(
    sessions: Sessions,
    folder: Path,
    lines: Iterable[str],
    type_: SqlType | tuple[Field, ...],
    *form: str,
) -> dict[int, Any]:
    """Return what a source makes of lines, by their number: the value, or the words of why none."""
    folder.mkdir()
    (folder / "a.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    options = {"connector": "files", "path": str(folder), "match_pattern": "*"}
    more = type_ if isinstance(type_, tuple) else (Field("x", type_),)
    schema = (Field("id", INT), *more)
    format_, encode = form
    connector = make_connector(
        SourceSpec("s", schema, format_, encode, options, key=("id",)), limits=LIMITS
    )
    found = (
        connector.read_splits(sessions.ingest, connector.discover_splits({}, 10**6))
        .toArrow()
        .to_pylist()
    )
    return {row["__line"]: row for row in found}


FORMS: dict[str, tuple[str, Callable[[str], str]]] = {
    "plain": ("PLAIN", plain),
    "row": ("UPSERT", plain),
    "keyed": ("UPSERT", keyed),
    "created": ("DEBEZIUM", created),
    "updated": ("DEBEZIUM", enveloped),
}
NIGHTLY = ("row", "keyed", "created")
"""Forms whose numbers are in the long set: the others are read by the same formats."""


@pytest.mark.parametrize("column", TYPES)
@pytest.mark.parametrize(
    "form",
    [
        "csv",
        *(pytest.param(f, marks=pytest.mark.long if f in NIGHTLY else ()) for f in FORMS),
    ],
)
def test_numbers_are_what_the_line_writes(
    sessions: Sessions, tmp_warehouse: Path, form: str, column: str
) -> None:
    type_, texts = TYPES[column], numbers()
    if form == "csv":
        lines = ["id,x", *(f"{i},{text}" for i, text in enumerate(texts))]
        found = read(sessions, tmp_warehouse / "in", lines, type_, "PLAIN", "CSV")
    else:
        format_, line = FORMS[form]
        rows = (f'{{"id": {i}, "x": {text}}}' for i, text in enumerate(texts))
        found = read(sessions, tmp_warehouse / "in", map(line, rows), type_, format_, "JSON")
    for i, text in enumerate(texts):
        row, expected = found[i + (2 if form == "csv" else 1)], value_of(text, type_)
        if expected is None:
            shown = text if len(text) <= 60 else f"{text[:60]}…"
            assert f"x: '{shown}' is not {str(type_).lower()}" in row["__reason"], text
            continue
        assert (row["x"], row["__corrupt"]) == (expected, None), text
        if form == "updated":
            assert row["__before"]["x"] == expected
        if type_.is_float:
            assert struct.pack("d", row["x"]) == struct.pack("d", expected), text


@pytest.mark.parametrize("form", FORMS)
def test_objects_are_what_the_reference_reads(
    sessions: Sessions, tmp_warehouse: Path, form: str
) -> None:
    format_, line = FORMS[form]
    lines = [line(f'{{"id": {i}, "x": {text}}}') for i, text in enumerate(OBJECTS)]
    found = read(sessions, tmp_warehouse / "in", lines, JSONB, format_, "JSON")
    for i, text in enumerate(OBJECTS):
        row, expected = found[i + 1], read_text(text, JSONB)
        assert row["x"] == expected, text
        if expected is None:
            assert row["__corrupt"] == lines[i]
            assert row["__file"].endswith("in/a.txt")
            assert row["__reason"].startswith("x: '") and "' is not jsonb" in row["__reason"]
        else:
            assert row["__corrupt"] is None, row


@pytest.mark.parametrize("type_", [REAL, DOUBLE], ids=str)
@pytest.mark.parametrize("encode", ["JSON", "CSV"])
def test_texts_of_floats_are_what_a_cast_reads(
    sessions: Sessions, tmp_warehouse: Path, type_: SqlType, encode: str
) -> None:
    lines = [f'{{"id": {i}, "x": "{text}"}}' for i, text in enumerate(ODD)]
    if encode == "CSV":
        lines = ["id,x", *(f'{i},"{text}"' for i, text in enumerate(ODD))]
    found = read(sessions, tmp_warehouse / "in", lines, type_, "PLAIN", encode)
    for i, text in enumerate(ODD):
        row, expected = found[i + 1 + (encode == "CSV")], read_text(text, type_)
        assert repr(row["x"]) == repr(expected), text
        # An empty cell of CSV is NULL.
        refused = expected is None and not (encode == "CSV" and text == "")
        assert (row["__corrupt"] is not None) == refused, text


def test_nested_values_keep_their_texts(sessions: Sessions, tmp_warehouse: Path) -> None:
    texts = [
        r'{"a":1.10,"b":[-0,1e3,"x\"1.5",{"c":-0.50}]}',
        r'{"a":"\\u00001.5","b":"\\u0000\"","c":2.50}',
        r'["1.5","a:1.5,","\\",1.5]',
    ]
    lines = [f'{{"id": {i}, "x": {text}}}' for i, text in enumerate(texts)]
    spelt = r'{"a":"\u0000\u00001.5\u0000"}'
    lines.append(f'{{"id": 3, "x": {json.dumps(spelt)}, "y": 1.5}}')
    lines.append('{"id": 4, "x": 01.5}')
    lines.append('{"id": 5, "x": {1.5: 2}}')
    found = read(sessions, tmp_warehouse / "in", lines, VARCHAR, "PLAIN", "JSON")
    assert [found[i + 1]["x"] for i in range(4)] == [*texts, spelt]
    assert all(found[i]["__corrupt"] == lines[i - 1] for i in (5, 6))
    of_numbers = list_of(numeric(38, 10))
    lines = ['{"id": 0, "x": [1234567890123.1234567891, -0.5, 7]}', '{"id": 1, "x": [1.5, "a"]}']
    found = read(sessions, tmp_warehouse / "list", lines, of_numbers, "UPSERT", "JSON")
    assert found[1]["x"] == [Decimal("1234567890123.1234567891"), Decimal("-0.5"), Decimal(7)]
    assert "x: '[1.5,\"a\"]' is not" in found[2]["__reason"]


@pytest.mark.parametrize(
    "form",
    [
        "csv",
        *(pytest.param(f, marks=() if f == "plain" else pytest.mark.long) for f in FORMS),
    ],
)
def test_parts_are_read_as_columns_are(sessions: Sessions, tmp_warehouse: Path, form: str) -> None:
    schema = tuple(Field(f"x{i}", type_) for i, (type_, _, _) in enumerate(NESTED))
    whole = {f"x{i}": text for i, (_, text, value) in enumerate(NESTED) if value is not None}
    rows = [whole, *({f"x{i}": t} for i, (_, t, v) in enumerate(NESTED) if v is None)]
    if form == "csv":
        cells = [[row.get(f.name, "").replace('"', '""') for f in schema] for row in rows]
        names = ["id", *(f.name for f in schema)]
        quoted = (",".join([str(i), *(f'"{c}"' for c in row)]) for i, row in enumerate(cells))
        lines, how = [",".join(names), *quoted], ("PLAIN", "CSV")
    else:
        format_, line = FORMS[form]
        parts = (", ".join(f'"{c}": {text}' for c, text in row.items()) for row in rows)
        lines = [line(f'{{"id": {i}, {members}}}') for i, members in enumerate(parts)]
        how = (format_, "JSON")
    found = read(sessions, tmp_warehouse / "in", lines, schema, *how)
    first, *others = (found[number] for number in sorted(found))
    assert first["__corrupt"] is None, first["__reason"]
    for i, (type_, text, value) in enumerate(NESTED):
        assert value is None or first[f"x{i}"] == value, (str(type_), text)
    for row, said in zip(others, rows[1:], strict=True):
        (name,) = said
        assert row["__reason"].startswith(f"{name}: '"), said
