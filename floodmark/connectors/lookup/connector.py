"""The `lookup` connector: an external table that is read by key while an epoch runs.

`store = 'sqlite'` asks a SQLite file, read-only; `store = 'delta'` a Delta table that is not the
warehouse's, at the version that is newest at the first lookup of an epoch. Keys are sent in chunks,
one query per chunk. Values must have the declared types: nothing is cast implicitly.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from floodmark.connectors.base import Discovery, SourceSpec, Split, WithoutFiles
from floodmark.connectors.options import Options
from floodmark.errors import DataError, TransientError, UserError
from floodmark.scalar.casts import BITS, from_text
from floodmark.scalar.functions import RowError
from floodmark.scalar.types import Field, Kind, SqlType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from floodmark.storage.delta.elsewhere import ForeignTable

LookupKey = tuple[Any, ...]
RowValues = tuple[Any, ...]
_TYPES = (
    Kind.BOOLEAN, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.REAL, Kind.DOUBLE, Kind.NUMERIC,
    Kind.VARCHAR, Kind.UUID, Kind.JSONB, Kind.BYTEA, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ,
)  # fmt: skip
_MOST_VALUES = 30_000
"""So many values SQLite takes in one query, and some."""
_SPELLINGS = 4
"""The most texts that stand for a value of a key."""
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class LookupStore(Protocol):
    """Something that can be asked for the rows of keys."""

    @property
    def version(self) -> int | None:
        """Return the version that is asked; None for the newest, or where there are none."""

    def pin(self, version: int | None) -> LookupStore:
        """Return the store as it is now, or was at a version, for all that is asked of it."""

    def ask(
        self, names: Sequence[str], by: Sequence[str], keys: Sequence[LookupKey]
    ) -> Iterable[RowValues]:
        """Return the rows, as columns `names`, whose columns `by` have one of the keys."""


@dataclass(frozen=True)
class Lookup(WithoutFiles):
    """A table that is kept elsewhere; as a connector it never has anything to take in."""

    spec: SourceSpec
    store: LookupStore
    chunk: int

    @property
    def reads_text(self) -> bool:
        """Tell that nothing is read as text."""
        return False

    def discover_splits(
        self, taken: Mapping[int, int], limit: int, discovery: Discovery | None = None
    ) -> tuple[Split, ...]:
        """Offer nothing: its rows come when they are asked for."""
        return ()

    def read_splits(self, spark: SparkSession, splits: Sequence[Split]) -> DataFrame:
        """Never called: there are no splits."""
        raise AssertionError(f"{self.spec.name} has no splits")

    def bounds(self, splits: Sequence[Split], column: str) -> tuple[Any, Any] | None:
        """Return nothing."""
        return None

    def intact(self, splits: Sequence[Split], columns: Sequence[str]) -> bool:
        """Tell nothing."""
        return False

    def pin(self, version: int | None = None) -> Lookup:
        """Return the lookup into the store as it is now, or was at a version; else E0490."""
        return replace(self, store=self.store.pin(version))

    def fetch(self, by: Sequence[str], keys: Sequence[LookupKey]) -> Iterator[RowValues]:
        """Yield the typed rows of the keys, in a fixed order, and their number within the key.

        Raises `DataError` E0490 for a store that cannot be asked, E0491 for a value that is not of
        its column's type, E0492 for two rows of a promised key; `TransientError` E0520 where it is
        busy.
        """
        seen: set[LookupKey] = set()
        fits = [_fits(self._field(name).type) for name in by]
        keys = [key for key in keys if all(f(v) for f, v in zip(fits, key, strict=True))]
        types = [self._field(name).type for name in by]
        spelt = sum(t.kind in (Kind.UUID, Kind.DATE) for t in types)
        size = max(1, min(self.chunk, _MOST_VALUES // (len(by) * _SPELLINGS**spelt)))
        for start in range(0, len(keys), size):
            chunk = keys[start : start + size]
            names = [f.name for f in self.spec.schema]
            asked = [k for key in chunk for k in product(*map(_spellings, key, types))]
            found = [self._convert_row(row) for row in self.store.ask(names, by, asked)]
            self._check_promised(found, seen)
            yield from self._number_rows(found, by)

    def _field(self, name: str) -> Field:
        return next(f for f in self.spec.schema if f.name == name)

    def _convert_row(self, row: RowValues) -> RowValues:
        return tuple(self._value(f, value) for f, value in zip(self.spec.schema, row, strict=True))

    def _value(self, field: Field, value: Any) -> Any:
        if value is None and (field.nullable and field.name not in self.spec.key):
            return None
        try:
            return convert_value(value, field.type)
        except (RowError, ValueError, OverflowError):
            raise DataError(
                "E0491",
                f"{self.spec.name}.{field.name} is {field.type}, and the store has {value!r:.60}",
                hint="declare the column with its stored type, or correct the row",
            ) from None

    def _check_promised(self, rows: Iterable[RowValues], seen: set[LookupKey]) -> None:
        places = [i for i, f in enumerate(self.spec.schema) if f.name in self.spec.key]
        if not places:
            return
        for row in rows:
            key = tuple(row[i] for i in places)
            if key in seen:
                raise DataError(
                    "E0492",
                    f"{self.spec.name} has two rows with the key {key!r:.60}",
                    hint="declare no PRIMARY KEY, or one that holds",
                )
            seen.add(key)

    def _number_rows(self, rows: Sequence[RowValues], by: Sequence[str]) -> Iterator[RowValues]:
        places = [i for i, f in enumerate(self.spec.schema) if f.name in by]
        counts: dict[LookupKey, int] = {}
        for row in sorted(rows, key=repr):
            key = tuple(row[i] for i in places)
            counts[key] = counts.get(key, 0) + 1
            yield (*row, counts[key])


def make_lookup(spec: SourceSpec, options: Options) -> Lookup:
    """Make the connector from a source's options."""
    options.check_names()
    for field in spec.schema:
        if field.type.kind not in _TYPES:
            raise UserError(
                "E0493",
                f"{spec.name}.{field.name}: {field.type} cannot be looked up in an external table",
                hint="declare it as VARCHAR and cast it in the query, or leave it out",
            )
    path = Path(options.read_option("path"))
    store: LookupStore
    if options.read_option("store") == "sqlite":
        table = options.read_option("table", spec.name.rpartition(".")[2])
        busy = options.read_option("busy_seconds")
        store = SqliteStore(spec.name, path, table, busy)
    else:
        store = DeltaLookup(spec.name, path)
    return Lookup(spec, store, options.read_option("chunk"))


@dataclass(frozen=True)
class SqliteStore:
    """A table or view of a SQLite file."""

    name: str
    path: Path
    table: str
    busy_seconds: float

    @property
    def version(self) -> None:
        """Return None: a file has no versions."""
        return None

    def pin(self, version: int | None) -> SqliteStore:
        """Return the file: each query sees what is in it then."""
        return self

    def ask(
        self, names: Sequence[str], by: Sequence[str], keys: Sequence[LookupKey]
    ) -> Iterable[RowValues]:
        """Return the rows of the keys, by one query over a read-only connection."""
        spelled = [k for key in keys for k in product(*map(_sqlite_values, key))]
        columns = ", ".join(map(_identifier, names))
        asked = ", ".join(map(_identifier, by))
        one = f"({', '.join('?' * len(by))})"
        query = (
            f"SELECT {columns} FROM {_identifier(self.table)} "
            f"WHERE ({asked}) IN (VALUES {', '.join([one] * len(spelled))})"
        )
        values = [value for key in spelled for value in key]
        try:
            with closing(self._connection()) as connection:
                self._check_columns(connection, names)
                return connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _connection(self) -> sqlite3.Connection:
        if not os.path.isfile(self.path):
            raise unreachable(self.name, f"there is no file {self.path}")
        uri = f"file:{quote(str(self.path.resolve()))}?mode=ro"
        return sqlite3.connect(uri, uri=True, timeout=self.busy_seconds)

    def _check_columns(self, connection: sqlite3.Connection, names: Sequence[str]) -> None:
        # SQLite takes a quoted name that is no column for a text.
        rows = connection.execute("SELECT name FROM pragma_table_info(?)", (self.table,))
        present = {row[0].lower() for row in rows}
        if not present:
            raise unreachable(self.name, f"{self.path} has no table {self.table}")
        for name in names:
            if name.lower() not in present:
                raise unreachable(self.name, f"{self.table} has no column {name}")

    def _failure(self, error: sqlite3.Error) -> DataError | TransientError:
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None and code & 0xFF in _BUSY:
            return TransientError(
                "E0520",
                f"{self.name}: {self.path} is locked",
                hint="wait until its writer is done; the next run goes on with an open epoch",
            )
        return unreachable(self.name, f"{self.path}: {error}")


@dataclass(frozen=True)
class DeltaLookup:
    """A Delta table outside of the warehouse, at a version or at its newest."""

    name: str
    path: Path
    version: int | None = None

    def pin(self, version: int | None) -> DeltaLookup:
        """Return the table at a version, else at the one that is its newest now."""
        return replace(self, version=self._table().version if version is None else version)

    def _table(self) -> ForeignTable:
        from floodmark.storage.delta.elsewhere import ForeignTable

        try:
            return ForeignTable(str(self.path), self.version)
        except OSError as error:
            raise unreachable(self.name, f"{self.path}: {error}") from error

    def ask(
        self, names: Sequence[str], by: Sequence[str], keys: Sequence[LookupKey]
    ) -> Iterable[RowValues]:
        """Return the rows of the keys; files that cannot hold them are not read."""
        try:
            dataset = self._table().dataset
        except OSError as error:
            raise unreachable(self.name, f"{self.path}: {error}") from error
        for name in names:
            if name not in dataset.schema.names:
                raise unreachable(self.name, f"{self.path} has no column {name}")
        import pyarrow as pa
        import pyarrow.dataset as ds

        test = None
        for i, name in enumerate(by):
            values = sorted({key[i] for key in keys})
            try:
                asked = pa.array(values, dataset.schema.field(name).type)
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                raise unreachable(
                    self.name,
                    f"{self.path}: {name} is {dataset.schema.field(name).type}, not as declared",
                ) from None
            part = ds.field(name).isin(asked)
            test = part if test is None else test & part
        wanted = set(keys)
        places = [names.index(name) for name in by]
        columns = dataset.to_table(columns=list(names), filter=test).to_pydict()
        rows = zip(*(columns[name] for name in names), strict=True)
        return [row for row in rows if tuple(row[i] for i in places) in wanted]


def unreachable(name: str, why: str) -> DataError:
    """Return E0490: a store that cannot be asked."""
    return DataError(
        "E0490", f"{name} cannot be looked up: {why}", hint="correct path, table, columns"
    )


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _spellings(value: Any, type_: SqlType) -> tuple[Any, ...]:
    """Return the texts that stand for a UUID as people keep it; of other types the value."""
    if type_.kind is not Kind.UUID:
        return (value,)
    digits = value.replace("-", "")
    return (value, value.upper(), digits, digits.upper())


def _sqlite_values(value: Any) -> tuple[Any, ...]:
    """Return the forms that a value may have in a SQLite file: a date is one of several texts."""
    if not isinstance(value, date):
        return (value,)
    day = value.isoformat()
    return (day, f"{day} 00:00:00", f"{day}T00:00:00", f"{day} 00:00:00.000000")


def convert_value(value: Any, type_: SqlType) -> Any:
    """Return a stored value as one of a SQL type; a `ValueError` where it is none.

    >>> from floodmark.scalar.types import BOOLEAN, DATE
    >>> convert_value(1, BOOLEAN), convert_value("2024-02-03", DATE)
    (True, datetime.date(2024, 2, 3))
    """
    if value is None:
        raise ValueError(value)
    match type_.kind:
        case Kind.BOOLEAN:
            return bool(_integer(value, 1, least=0))
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            return _integer(_check_instance(value, (int,), but=bool), BITS[type_.kind])
        case Kind.REAL | Kind.DOUBLE:
            return float(_check_instance(value, (int, float), but=bool))
        case Kind.NUMERIC:
            return _exact(str(_check_instance(value, (int, float, str, Decimal), but=bool)), type_)
        case Kind.VARCHAR:
            return _check_instance(value, (str,))
        case Kind.BYTEA:
            return bytes(_check_instance(value, (bytes,)))
        case Kind.DATE if isinstance(value, date) and not isinstance(value, datetime):
            return value
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ if isinstance(value, datetime):
            return _moment(value, type_)
        case _:
            return from_text(_check_instance(value, (str,)), type_)


def _fits(type_: SqlType) -> Callable[[Any], bool]:
    """Return the test whether a column of a type can have a value: numbers can be too large."""
    if not type_.is_integer:
        return lambda value: True
    bound = 2 ** BITS[type_.kind]
    return lambda value: -bound <= value < bound


def _integer(value: Any, bits: int, least: int | None = None) -> int:
    whole: int = _check_instance(value, (int,))
    if not (-(2**bits) if least is None else least) <= whole < 2**bits:
        raise ValueError(value)
    return whole


def _exact(text: str, type_: SqlType) -> Any:
    value = from_text(text, type_)
    if value != Decimal(text):
        raise ValueError(text)
    return value


def _moment(value: datetime, type_: SqlType) -> datetime:
    if (value.tzinfo is None) == (type_.kind is Kind.TIMESTAMPTZ):
        raise ValueError(value)
    return value if value.tzinfo is None else value.astimezone(UTC)


def _check_instance(value: Any, types: tuple[type, ...], but: tuple[type, ...] | type = ()) -> Any:
    if not isinstance(value, types) or isinstance(value, but):
        raise ValueError(value)
    return value
