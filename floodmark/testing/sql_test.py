"""A warehouse under test: rows in, and what the objects emit against what is expected."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from floodmark.api import Floodmark, connect
from floodmark.catalog.outputs import TABLE
from floodmark.plan.declaration import DEBEZIUM, PREFIX, UPSERT
from floodmark.query.dml import PARTITION
from floodmark.scalar.types import VARCHAR
from floodmark.spark.confs import SparkConfig
from floodmark.sql import statements as s
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_script
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.testing.delivery import deliver, log_rows
from floodmark.testing.output import ByEpoch, read_output
from floodmark.testing.program import load, parse
from floodmark.testing.text import START, Line, TextRow, cells_of, decode_rows, mismatch

EpochRows = Mapping[str, Sequence[Line]]


class FixedClock:
    """A clock that stands until it is set.

    >>> clock = FixedClock()
    >>> clock.set(clock.now() + timedelta(days=1))
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
            yield SqlTest(connection, clock, root / "rows")


def run_program(
    program: str | Path, folder: Path | None = None, *, spark: SparkConfig | None = None
) -> None:
    """Run a program, a text or a file of one, in a warehouse of its own.

    Raises AssertionError at the first epoch that emits something else than the program says, and
    `ProgramError` for a text that is no program.
    """
    loaded = load(program) if isinstance(program, Path) else parse(program, "program")
    with sql_test(loaded.sql, folder, spark=spark) as test:
        for epoch in loaded.epochs:
            test.advance(epoch.inputs, epoch.dml, epoch.now)
            test.compare(epoch.expected, loaded.outputs, f"{loaded.name}, epoch {epoch.number}")


class SqlTest:
    """A warehouse under test; epochs are one minute apart unless their time is given."""

    def __init__(self, connection: Floodmark, clock: FixedClock, folder: Path) -> None:
        self.connection = connection
        self.clock = clock
        self._folder = folder
        self._deliveries = 0
        self._before = 0

    def epoch(self, given: str, expected: str = "", *, now: datetime | None = None) -> None:
        """Take in rows, advance, and compare what the objects with a label emitted.

        Both texts hold labels, `name:`, each with rows after it: `+I 1 'a b' NULL`; `dml:` is a
        statement. Rows are compared as sets. Rows that are late or dead have labels of their own,
        `late name:` and `dead name:`; without one there must be none. Raises AssertionError with
        what is missing and what was not expected.
        """
        cells = cells_of(given)
        self.advance(cells.rows, cells.dml, now)
        wanted = cells_of(expected).rows
        names = {label.removeprefix("out "): rows for label, rows in wanted.items()}
        self.compare(names, names, f"epoch {self._deliveries}")

    def advance(
        self, given: EpochRows, dml: Sequence[str] = (), now: datetime | None = None
    ) -> None:
        """Take in rows by object, execute statements, and advance until nothing is new.

        Rows of tables without a connector are an epoch of their own, and so is a statement.
        """
        self._before = self.connection.warehouse.log.head().sealed
        self.clock.set(now or self.clock.now() + timedelta(minutes=1))
        self._deliveries += 1
        logged: list[tuple[AnalysedObject, Sequence[Line]]] = []
        for name, lines in given.items():
            target = self.connection.find(name)
            if target.declared is None:
                raise ValueError(f"{name} is a {target.kind.value}: it takes no rows")
            if target.declared.connector is None:
                logged.append((target, lines))
            elif lines:
                deliver(target, lines, self._deliveries)
        self._log([(target, lines) for target, lines in logged if lines])
        for statement in dml:
            self.connection.execute(statement)
        self.connection.advance()
        suspended = self.connection.warehouse.suspensions()
        broken = "\n".join(f"{key}: {event.message}" for key, event in suspended.items())
        if broken:
            raise AssertionError(f"suspended:\n{broken}")

    def _log(self, changes: Sequence[tuple[AnalysedObject, Sequence[Line]]]) -> None:
        if not changes:
            return
        loop = self.connection.loop
        with loop.hold("the rows of a test"):
            taken = loop.warehouse.log.positions()
            entries = []
            for target, lines in changes:
                path = self._folder / f"{target.key}-{self._deliveries:06}.parquet"
                start = taken.get(f"dml:{target.key}", {}).get(PARTITION, 0)
                entries.append(log_rows(target, lines, path, start, self.clock.now()))
            loop.run_once(dml=entries)

    def compare(self, expected: EpochRows, checked: Collection[str], title: str) -> None:
        """Fail where what was emitted since the last `advance` is not what is expected.

        The changes of the `checked` objects are compared, and all late and dead rows.
        """
        stored = {obj.key: obj for obj in self.connection.deployed.pipeline.writing_objects}
        for label in (*expected, *checked):
            name = label.rpartition(" ")[2]
            if name not in stored:
                kind = self.connection.find(name).kind.value
                raise ValueError(f"{name} is a {kind}: it holds no rows to compare")
        texts = [t for obj in stored.values() for t in self._mismatches(obj, expected, checked)]
        if texts:
            raise AssertionError("\n\n".join([f"{title}:", *texts]))

    def _mismatches(
        self, obj: AnalysedObject, expected: EpochRows, checked: Collection[str]
    ) -> Iterator[str]:
        output = read_output(self.connection.store, obj)
        types = [c.type for c in obj.relation.visible]
        reason = [VARCHAR]
        parts = [(f"late {obj.key}", types, output.late), (f"dead {obj.key}", reason, output.dead)]
        if obj.key in checked:
            parts.insert(0, (obj.key, types, output.changes))
        for label, columns, changes in parts:
            wanted = decode_rows(expected.get(label, ()), columns)
            text = mismatch(label, wanted, self._new_rows(changes))
            if text is not None:
                yield text

    def _new_rows(self, changes: ByEpoch) -> list[TextRow]:
        return [row for epoch, rows in changes.items() if epoch > self._before for row in rows]


def _with_landing(statement: s.Statement, landing: Path) -> str:
    """Return a statement's SQL, with the connector of a source reading a folder of its own."""
    if not isinstance(statement, s.CreateSource | s.CreateTable) or statement.format is None:
        return statement.sql
    folder = landing / statement.name.name
    listed = statement.transforms if isinstance(statement, s.CreateSource) else ()
    tables = [t.table for t in listed if t.table is not None]
    for name in tables or [""]:
        (folder / name).mkdir(parents=True, exist_ok=True)
    path = str(folder / TABLE) if tables else str(folder)
    kept = (o for o in statement.options if o.name.startswith(PREFIX))
    options = (s.Option("connector", "files"), s.Option("path", path), *kept)
    messages = statement.format.format in (UPSERT, DEBEZIUM)
    encode = "JSON" if messages else "PARQUET"
    encoded = replace(statement.format, encode=encode, options=())
    return to_sql(replace(statement, options=options, format=encoded))
