"""Tables that are kept elsewhere: what is asked, what comes back, what is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from floodmark.connectors.base import SourceSpec
from floodmark.connectors.lookup.connector import Lookup, convert_value, make_lookup
from floodmark.connectors.options import Options
from floodmark.connectors.registry import make_connector
from floodmark.errors import DataError, TransientError, UserError
from floodmark.limits import LIMITS
from floodmark.scalar.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INT,
    JSONB,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    Field,
    Schema,
    SqlType,
    list_of,
    numeric,
)

NAMED: Schema = (Field("k", INT), Field("name", VARCHAR))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a SQLite file with a table of names."""
    path = tmp_path / "names.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('CREATE TABLE dim (k INTEGER, name TEXT, "odd ""one" TEXT)')
        rows = [(1, "a", "x"), (2, "c", "x"), (2, "b", "x"), (3, None, "x")]
        connection.executemany("INSERT INTO dim VALUES (?, ?, ?)", rows)
        connection.commit()
    return path


def lookup(path: Path, schema: Schema = NAMED, key: tuple[str, ...] = (), **options: str) -> Lookup:
    """Return the lookup of a file."""
    given = {"connector": "lookup", "store": "sqlite", "path": str(path), "table": "dim"}
    spec = SourceSpec("d", schema, "PLAIN", "JSON", given | options, key=key)
    return make_lookup(spec, Options("d", spec.options, limits=LIMITS))


def test_rows_of_keys_come_typed_and_numbered(file: Path) -> None:
    found = list(lookup(file).fetch(["k"], [(1,), (2,), (9,)]))
    assert found == [(1, "a", 1), (2, "b", 1), (2, "c", 2)]


@pytest.mark.parametrize("chunk", [1, 2, 500])
def test_one_query_a_chunk(file: Path, chunk: int) -> None:
    found = lookup(file, chunk=str(chunk)).fetch(["k"], [(i,) for i in range(5)])
    assert sorted(row[:2] for row in found if row[1]) == [(1, "a"), (2, "b"), (2, "c")]


def test_many_keys_of_several_columns(file: Path) -> None:
    keys = [(i, "a") for i in range(40_000)]
    assert list(lookup(file, chunk="100000").fetch(["k", "name"], keys)) == [(1, "a", 1)]


def test_numbers_that_no_row_can_have_are_not_asked_for(file: Path) -> None:
    assert list(lookup(file).fetch(["k"], [(1,), (2**31,), (-(2**63),)])) == [(1, "a", 1)]


def test_keys_are_found_however_they_are_written(tmp_path: Path) -> None:
    low, high = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"
    path = tmp_path / "f.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE dim (u TEXT, d DATE)")
        days = ("2024-01-31", "2024-01-31 00:00:00", "2024-01-31T00:00:00", "2024-02-01")
        texts = (low, high.upper(), low.replace("-", ""), high.replace("-", "").upper())
        connection.executemany("INSERT INTO dim VALUES (?, ?)", zip(texts, days, strict=True))
        connection.commit()
    found = lookup(path, (Field("u", UUID), Field("d", DATE)))
    day = date(2024, 1, 31)
    assert [row[0] for row in found.fetch(["u"], [(low,)])] == [low, low]
    assert [row[0] for row in found.fetch(["d"], [(day,)])] == [low, low, high]
    assert list(found.fetch(["u", "d"], [(low, day), (high, day)])) == [
        (low, day, 1), (low, day, 2), (high, day, 1),
    ]  # fmt: skip
    write_deltalake(str(tmp_path / "outside"), pa.table({"u": texts}))
    options = {"connector": "lookup", "store": "delta", "path": str(tmp_path / "outside")}
    spec = SourceSpec("d", (Field("u", UUID),), "PLAIN", "JSON", options)
    assert list(
        make_lookup(spec, Options("d", options, limits=LIMITS)).fetch(["u"], [(high,)])
    ) == [
        (high, 1),
        (high, 2),
    ]


def test_names_are_quoted(file: Path) -> None:
    schema = (Field("k", INT), Field('odd "one', VARCHAR))
    assert list(lookup(file, schema).fetch(["k"], [(1,)])) == [(1, "x", 1)]


def test_the_connection_is_read_only(file: Path) -> None:
    before = file.stat()
    list(lookup(file).fetch(["k"], [(1,)]))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def remove(path: Path) -> None:
    """Take the file away."""
    path.unlink()


def spoil(path: Path) -> None:
    """Make it something else."""
    path.write_bytes(b"no database, whatever its name says" * 100)


def rename(path: Path) -> None:
    """Give the table another name."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE dim RENAME TO other")


def drop(path: Path) -> None:
    """Take a column away."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE dim RENAME COLUMN name TO label")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (remove, "no file"),
        (spoil, "not a database"),
        (rename, "no table dim"),
        (drop, "no column name"),
    ],
)
def test_what_cannot_be_asked(file: Path, change: Callable[[Path], None], says: str) -> None:
    change(file)
    with pytest.raises(DataError, match=says) as caught:
        list(lookup(file).fetch(["k"], [(1,)]))
    assert caught.value.code == "E0490"


def test_a_locked_file_is_for_later(file: Path) -> None:
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TransientError) as caught:
            list(lookup(file, busy_seconds="0").fetch(["k"], [(1,)]))
    assert caught.value.code == "E0520"
    assert list(lookup(file).fetch(["k"], [(1,)]))


def test_a_value_of_another_type(file: Path) -> None:
    with pytest.raises(DataError, match="is integer, and the store has 'a'") as caught:
        list(lookup(file, (Field("k", INT), Field("name", INT))).fetch(["k"], [(1,)]))
    assert caught.value.code == "E0491"


def test_null_where_none_is_promised(file: Path) -> None:
    schema = (Field("k", INT), Field("name", VARCHAR, nullable=False))
    with pytest.raises(DataError, match="None") as caught:
        list(lookup(file, schema).fetch(["k"], [(3,)]))
    assert caught.value.code == "E0491"


def test_a_key_that_does_not_hold(file: Path) -> None:
    with pytest.raises(DataError, match="two rows with the key") as caught:
        list(lookup(file, key=("k",)).fetch(["k"], [(1,), (2,)]))
    assert caught.value.code == "E0492"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"store": "oracle"}, "E0473"),
        ({"chunk": "0"}, "E0473"),
        ({"chnk": "9"}, "E0471"),
    ],
)
def test_wrong_options(file: Path, options: dict[str, str], code: str) -> None:
    with pytest.raises(UserError) as caught:
        lookup(file, **options)
    assert caught.value.code == code


def test_missing_options_and_types() -> None:
    spec = SourceSpec("d", NAMED, "PLAIN", "JSON", {"connector": "lookup", "store": "sqlite"})
    with pytest.raises(UserError) as caught:
        make_connector(spec, limits=LIMITS)
    assert caught.value.code == "E0472"
    with pytest.raises(UserError) as caught:
        lookup(Path("x"), (Field("k", list_of(INT)),))
    assert caught.value.code == "E0493"


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (1, BOOLEAN, True),
        (True, BOOLEAN, True),
        (5, SMALLINT, 5),
        (2**40, BIGINT, 2**40),
        (1, DOUBLE, 1.0),
        ("1.50", numeric(5, 2), Decimal("1.50")),
        (1.5, numeric(5, 2), Decimal("1.50")),
        (b"\x00", BYTEA, b"\x00"),
        ("2024-02-03", DATE, date(2024, 2, 3)),
        ("2024-02-03 04:05:06", TIMESTAMP, datetime(2024, 2, 3, 4, 5, 6)),
        ("2024-02-03T04:05:06+01", TIMESTAMPTZ, datetime(2024, 2, 3, 3, 5, 6, tzinfo=UTC)),
        (datetime(2024, 2, 3), TIMESTAMP, datetime(2024, 2, 3)),
    ],
)
def test_values(value: Any, type_: SqlType, expected: Any) -> None:
    assert convert_value(value, type_) == expected


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (2, BOOLEAN),
        ("t", BOOLEAN),
        (True, INT),
        (2**31, INT),
        (1.0, INT),
        ("1", INT),
        ("x", DOUBLE),
        (1.234, numeric(5, 2)),
        (1, VARCHAR),
        ("x", BYTEA),
        ("yesterday", DATE),
        (datetime(2024, 2, 3), DATE),
        (datetime(2024, 2, 3), TIMESTAMPTZ),
        ("{", JSONB),
        (None, INT),
    ],
)
def test_values_of_no_such_type(value: Any, type_: SqlType, tmp_path: Path) -> None:
    field = Field("k", type_, nullable=False)
    with pytest.raises(DataError) as caught:
        lookup(tmp_path, (field,))._value(field, value)
    assert caught.value.code == "E0491"


def test_a_delta_table_from_outside(tmp_path: Path) -> None:
    rows = {"k": pa.array([1, 2, 2], pa.int32()), "name": pa.array(["a", "b", "c"])}
    write_deltalake(str(tmp_path / "dim"), pa.table(rows))
    found = lookup(tmp_path / "dim", store="delta")
    assert list(found.fetch(["k"], [(2,), (7,)])) == [(2, "b", 1), (2, "c", 2)]
    assert list(found.fetch(["k", "name"], [(2, "c"), (1, "b")])) == [(2, "c", 1)]
    with pytest.raises(DataError, match="no column") as caught:
        list(lookup(tmp_path / "dim", (Field("x", INT),), store="delta").fetch(["x"], [(1,)]))
    assert caught.value.code == "E0490"
    with pytest.raises(DataError) as caught:
        list(lookup(tmp_path / "none", store="delta").fetch(["k"], [(1,)]))
    assert caught.value.code == "E0490"
