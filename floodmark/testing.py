"""What a user needs to test SQL: a clock that stands, rows in per epoch, changelogs out.

```python
with sql_test("CREATE SOURCE s (k INT, v INT) WITH (connector = 'files', path = 'x') "
              "FORMAT PLAIN ENCODE JSON; "
              "CREATE MATERIALIZED VIEW v AS SELECT k, sum(v) FROM s GROUP BY k") as test:
    test.epoch("s: +I 1 10", "v: +I 1 10")
    test.epoch("s: +I 1 5", "v: -U 1 10  +U 1 15")
```
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from floodmark.analysis.pipeline import AnalysedObject
from floodmark.api import Floodmark, connect
from floodmark.catalog.types import Kind, Schema, SqlType
from floodmark.changelog import RowKind
from floodmark.runtime.layout import beside
from floodmark.runtime.results import python_rows
from floodmark.spark.confs import SparkConfig
from floodmark.sql import statements as s
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_script

START = datetime(2024, 1, 1, tzinfo=UTC)
Change = tuple[str, ...]
"""A changelog row as text: its kind, then its values."""

_KINDS = tuple(kind.value for kind in RowKind)
_TOKEN = re.compile(r"'(?:[^']|'')*'|\S+")
_LABEL = re.compile(r"([A-Za-z_][\w.]*):")
_ARROW: Mapping[Kind, pa.DataType] = {
    Kind.BOOLEAN: pa.bool_(), Kind.SMALLINT: pa.int16(), Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(), Kind.REAL: pa.float32(), Kind.DOUBLE: pa.float64(),
    Kind.VARCHAR: pa.string(), Kind.JSONB: pa.string(), Kind.UUID: pa.string(),
    Kind.DATE: pa.date32(), Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
}  # fmt: skip


class FixedClock:
    """A clock that stands until it is set.

    >>> clock = FixedClock(datetime(2024, 1, 1, tzinfo=UTC))
    >>> clock.set(datetime(2024, 1, 2, tzinfo=UTC))
    >>> clock.now().day
    2
    """

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def set(self, now: datetime) -> None:
        """Move the clock to an aware time."""
        self._now = now

    def now(self) -> datetime:
        """Return the time that was set last."""
        return self._now


@contextmanager
def sql_test(
    sql: str, folder: Path | None = None, *, spark: SparkConfig | None = None
) -> Iterator[SqlTest]:
    """Yield a warehouse in which a script of CREATE statements has been executed.

    Sources and tables with a connector get one that reads what `SqlTest.epoch` is given. Without a
    `folder` everything lies in a temporary one.
    """
    with tempfile.TemporaryDirectory(prefix="floodmark-test-") as temporary:
        root = folder or Path(temporary)
        clock = FixedClock()
        with connect(root / "warehouse", clock=clock, spark=spark) as connection:
            for statement in parse_script(sql):
                connection.execute(_with_landing(statement, root / "landing"))
            yield SqlTest(connection, clock, root / "landing")


class SqlTest:
    """A warehouse under test; epochs are one minute apart unless their time is given."""

    def __init__(self, connection: Floodmark, clock: FixedClock, landing: Path) -> None:
        self.connection = connection
        self.clock = clock
        self._landing = landing
        self._files = 0

    def epoch(self, given: str, expected: str = "", *, now: datetime | None = None) -> None:
        """Deliver rows, advance, and compare what the named objects emitted.

        Both texts hold labels, `name:`, each with rows after it: `+I 1 'a b' NULL`. Rows are
        compared as sets. Raises AssertionError with both changelogs where they differ.
        """
        before = self.connection.scheduler.log.head().sealed
        self.clock.set(now or self.clock.now() + timedelta(minutes=1))
        for name, rows in parse_changes(given).items():
            self._deliver(self.connection.find(name), rows)
        summaries = self.connection.advance()
        broken = {k: v for summary in summaries for k, v in summary.suspended.items()}
        assert not broken, f"suspended: {broken}"
        for name, rows in parse_changes(expected).items():
            found = self.connection.find(name)
            types = [c.type for c in found.relation.visible]
            wanted = Counter((r[0], *map(_canonical, r[1:], types)) for r in rows)
            actual = Counter(self.changes(name, before))
            assert wanted == actual, _difference(name, wanted, actual)

    def changes(self, name: str, after: int = 0) -> list[Change]:
        """Return what an object emitted after an epoch, as text rows, in no order."""
        found = self.connection.find(name)
        columns = found.relation.visible
        frame = self.connection.changes(name, after)
        names = ("`" + c.name.replace("`", "``") + "`" for c in columns)
        table = frame.select(beside(found, "kind"), *names).toArrow()
        kinds = table.column(0).to_pylist()
        rows = python_rows(table.select(range(1, table.num_columns)), columns)
        return [(k, *map(as_text, r)) for k, r in zip(kinds, rows, strict=True)]

    def _deliver(self, target: AnalysedObject, rows: Sequence[Change]) -> None:
        declared = target.declared
        assert declared is not None and declared.connector is not None, (
            f"{target.name} has no connector: change it with connection.execute('INSERT …')"
        )
        assert all(row[0] == "+I" for row in rows), f"{target.name} takes +I rows only"
        folder = Path(dict(declared.options)["path"])
        folder.mkdir(parents=True, exist_ok=True)
        self._files += 1
        pq.write_table(_arrow(declared.physical, rows), folder / f"{self._files:06}.parquet")


def parse_changes(text: str) -> dict[str, list[Change]]:
    """Return the rows of each label of a text.

    >>> parse_changes("s: +I 1 'it''s'  -D 2 NULL v:")
    {'s': [('+I', '1', "'it''s'"), ('-D', '2', 'NULL')], 'v': []}
    """
    out: dict[str, list[Change]] = {}
    rows: list[Change] | None = None
    for token in _TOKEN.findall(text):
        label = _LABEL.fullmatch(token)
        if label is not None:
            rows = out.setdefault(label[1], [])
        elif rows is None or (token not in _KINDS and not rows):
            raise ValueError(f"{token!r} stands before a label and a row kind")
        elif token in _KINDS:
            rows.append((token,))
        else:
            rows[-1] = (*rows[-1], token)
    return out


def as_text(value: Any) -> str:
    """Return a value as it stands in a changelog text.

    >>> [as_text(v) for v in (None, True, "a b", Decimal("1.50"), datetime(2024, 1, 1, 10, 5))]
    ['NULL', 't', "'a b'", '1.5', '2024-01-01T10:05:00']
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "t" if value else "f"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case Decimal():
            return f"{value.normalize():f}"
        case float():
            return f"{value:.9g}"
        case datetime():
            return value.replace(tzinfo=None).isoformat()
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _canonical(text: str, type_: SqlType) -> str:
    """Return the one text of a value: `1.50` and `1.5` are the same number."""
    return as_text(_value(text, type_))


def _value(text: str, type_: SqlType) -> Any:
    if text == "NULL":
        return None
    plain = text[1:-1].replace("''", "'") if text.startswith("'") else text
    match type_.kind:
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            return int(plain)
        case Kind.NUMERIC:
            return Decimal(plain)
        case Kind.REAL | Kind.DOUBLE:
            return float(plain)
        case Kind.BOOLEAN:
            return plain in ("t", "true")
        case Kind.DATE:
            return date.fromisoformat(plain)
        case Kind.TIMESTAMP:
            return _time(plain)
        case Kind.TIMESTAMPTZ:
            return _time(plain).replace(tzinfo=UTC)
        case _:
            return plain


def _time(text: str) -> datetime:
    """Return a timestamp; a time alone is of 2024-01-01, as the epochs are."""
    return datetime.fromisoformat(text if "-" in text else f"{START:%Y-%m-%d}T{text}")


def _arrow(schema: Schema, rows: Sequence[Change]) -> pa.Table:
    arrays = []
    for i, column in enumerate(schema, start=1):
        values = [_value(row[i], column.type) for row in rows]
        arrays.append(pa.array(values, _arrow_type(column.type)))
    return pa.table(arrays, names=[column.name for column in schema])


def _arrow_type(type_: SqlType) -> pa.DataType:
    if type_.kind is Kind.NUMERIC:
        return pa.decimal128(type_.precision, type_.scale)
    assert type_.kind in _ARROW, f"values of type {type_} cannot be written as text"
    return _ARROW[type_.kind]


def _with_landing(statement: s.Statement, landing: Path) -> str:
    """Return a statement's SQL, with the connector of a source reading a folder of its own."""
    if not isinstance(statement, s.CreateSource | s.CreateTable) or statement.format is None:
        return statement.sql
    folder = landing / statement.name.name
    folder.mkdir(parents=True, exist_ok=True)
    options = (s.Option("connector", "files"), s.Option("path", str(folder)))
    encoded = replace(statement.format, format="PLAIN", encode="PARQUET", options=())
    return to_sql(replace(statement, options=options, format=encoded))


def _difference(name: str, wanted: Counter[Change], actual: Counter[Change]) -> str:
    def shown(rows: Counter[Change]) -> str:
        return "\n".join(f"  {' '.join(row)}" for row in sorted(rows.elements())) or "  nothing"

    return f"{name} was expected to emit\n{shown(wanted)}\nand emitted\n{shown(actual)}"
