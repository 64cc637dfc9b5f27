"""Numbers of text sources are what the file writes, of every type, format and length; on Spark."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from floodmark.connectors.base import SourceSpec
from floodmark.connectors.registry import make_connector
from floodmark.scalar.types import DOUBLE, INT, VARCHAR, Field, SqlType, list_of, numeric

if TYPE_CHECKING:
    from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark
TYPES = {"n": numeric(20, 2), "w": numeric(38, 12), "f": DOUBLE, "v": VARCHAR}
EDGES = (
    *("99999999999999.99", "9007199254740993.01", "1234567890123.1234567891", "0.005", "-0.005"),
    *("99999999.995", "-0", "-0.0", "0", "1e3", "1E+3", "1.10", "-1.50e-1", "1e-9999999", "1e400"),
    *("-1e-999999999", "1e999999999", "0e-12", "9223372036854775807", "1.0", "10e0"),
    *("1.00000017881393432617187499", "1.00000017881393432617187501", "16777217.0", "0.1", "1e-46"),
    *("9999999.12345678", "9999999.123456789", "12345678.5", "0.001", "0.00099", "-0.5", "7.10"),
    *("9" * 38, "0." + "9" * 38, "-" + "9" * 18 + ".995", "1." + "0" * 500 + "1", "9" * 400),
)


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


def value_of(text: str, type_: SqlType) -> Any:
    """Return the value of a type that a number's text is, None where it is none."""
    if type_ == VARCHAR:
        return text
    if type_ == DOUBLE:
        return float(text)
    number = Decimal(text)
    if number.adjusted() > 40 and number:
        return None
    exact = Context(prec=2000, rounding=ROUND_HALF_UP)
    number = Decimal(0) if number.adjusted() < -2000 else number
    scaled = exact.quantize(number, Decimal(1).scaleb(-type_.scale))
    return scaled if abs(scaled) < Decimal(10) ** (type_.precision - type_.scale) else None


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
    sessions: Sessions, folder: Path, lines: Iterable[str], type_: SqlType, *form: str
) -> dict[int, Any]:
    """Return what a source makes of lines, by their number: the value, or the words of why none."""
    folder.mkdir()
    (folder / "a.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    options = {"connector": "files", "path": str(folder), "match_pattern": "*"}
    schema = (Field("id", INT), Field("x", type_))
    connector = make_connector(SourceSpec("s", schema, *form, options, key=("id",)))
    found = connector.read(sessions.ingest, connector.offer({}, 10**6)).toArrow().to_pylist()
    return {row["__line"]: row for row in found}


FORMS: dict[str, tuple[str, Callable[[str], str]]] = {
    "plain": ("PLAIN", plain),
    "row": ("UPSERT", plain),
    "keyed": ("UPSERT", keyed),
    "created": ("DEBEZIUM", created),
    "updated": ("DEBEZIUM", enveloped),
}


@pytest.mark.parametrize("column", ["n", "w", "f", "v"])
@pytest.mark.parametrize("form", [*FORMS, "csv"])
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
        if column == "f":
            assert struct.pack("d", row["x"]) == struct.pack("d", expected), text


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
