"""Data files with something wrong in them, drawn by a seed: JSON lines, CSV and Parquet."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

ENCODES = ("json", "csv", "parquet")
COLUMNS = (
    "id BIGINT, name VARCHAR, price NUMERIC(10, 2), at TIMESTAMP, ok BOOLEAN, "
    "tags VARCHAR[], part STRUCT<a INT, b VARCHAR>, raw BYTEA, more JSONB"
)
_JSON = (
    b'{"id": 1, "name": "caf\xc3\xa9", "price": "1.50", "at": "2013-01-01T00:00:00Z", "ok": true, '
    b'"tags": ["x", null], "part": {"a": 1, "b": "y"}, "raw": "ff00", "more": {"k": [1, 2.5]}}\n'
)
_CSV = (
    b"id,name,price,at,ok,tags,part,raw,more\n"
    b'1,"caf\xc3\xa9, or ""tea""",1.50,2013-01-01 00:00:00,true,"[""x""]","{""a"": 1}",ff00,"[1]"\n'
)
_NASTY = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n\n", b'"', b'""', b"\\",
    b",", b"\\ud800", b"\\u0000", b"[" * 1_500, b'{"a":' * 1_200, b"1e999", b"-0", b"9" * 400,
    b"NaN", b"0001-01-01", b"9999-12-31T23:59:59.999999999Z", b"10000-01-01", b"-1-01-01",
    b"24:00:00", b"null", b"{}", b"[]", b"\xf0\x9f\x8c\x8a", b"x" * 5_000, b"\t", b"%s", b"PAR1",
    b"\x1f\x8b",
)  # fmt: skip


def mutated(encode: str, seed: int) -> bytes:
    """Return the bytes of a file that was right before a few changes."""
    draw = random.Random(f"{encode} {seed}")
    data = bytearray(_parquet(draw) if encode == "parquet" else _text(encode, draw))
    for _ in range(draw.randint(1, 4)):
        draw.choice(_CHANGES)(data, draw)
    return bytes(data)


def _text(encode: str, draw: random.Random) -> bytes:
    lines = (_JSON if encode == "json" else _CSV).splitlines(keepends=True)
    return b"".join(lines) + lines[-1] * draw.randint(0, 5)


def _parquet(draw: random.Random) -> bytes:
    """Return a Parquet file, some of which have columns of other names and types."""
    moment = draw.choice([datetime(2013, 1, 1), datetime(1, 1, 1), datetime(9999, 12, 31)])
    columns = {
        "id": pa.array([1, 2], draw.choice([pa.int64(), pa.int16(), pa.uint64(), pa.float64()])),
        draw.choice(["name", "NAME", "namen"]): pa.array(["x", None]),
        "price": pa.array([Decimal("1.5"), None], pa.decimal128(draw.choice([5, 38]), 1)),
        "at": pa.array([moment, None], pa.timestamp(draw.choice(["us", "ms"]))),
        "ok": pa.array([True, None]),
        "tags": pa.array([["x"], None]),
        "part": pa.array([{"a": 1, "b": "y"}, None]),
        "raw": pa.array([b"\xff", None]),
    }
    if draw.random() < 0.2:
        columns[draw.choice(["ID", "Price", "\x00", "`", ""])] = pa.array([1, 2])
    file = io.BytesIO()
    codec = draw.choice(["snappy", "zstd", "none", "brotli", "gzip"])
    pq.write_table(pa.table(columns), file, compression=codec)
    return file.getvalue()


def _flip(data: bytearray, draw: random.Random) -> None:
    if data:
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def _cut(data: bytearray, draw: random.Random) -> None:
    del data[draw.randint(0, len(data)) :]


def _drop(data: bytearray, draw: random.Random) -> None:
    at = draw.randint(0, len(data))
    del data[at : at + draw.randint(1, 20)]


def _double(data: bytearray, draw: random.Random) -> None:
    at = draw.randint(0, len(data))
    data[at:at] = data[at : at + draw.randint(1, 50)]


def _insert(data: bytearray, draw: random.Random) -> None:
    at = draw.randint(0, len(data))
    data[at:at] = draw.choice(_NASTY)


def _end(data: bytearray, draw: random.Random) -> None:
    """Change the end, where the footer of a Parquet file is."""
    at = max(0, len(data) - draw.randint(1, 600))
    if data:
        data[min(at, len(data) - 1)] = draw.randrange(256)


_CHANGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip, _cut, _drop, _double, _insert, _insert, _end
)  # fmt: skip
