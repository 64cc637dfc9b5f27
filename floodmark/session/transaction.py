"""BEGIN … COMMIT: the statements of a transaction see its own writes and become one epoch.

The lease is not held between the statements. They are evaluated as of the last epoch that was
sealed before the first of them ran. COMMIT is refused where their inputs have changed since, as
under PostgreSQL's REPEATABLE READ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby

from floodmark.epochs.loop import EpochLoop
from floodmark.errors import DataError, Span, TransientError
from floodmark.query.dml.overlay import overlaid
from floodmark.query.dml.writing import DmlResult, Writing, target_of, write_rows
from floodmark.query.query import Reader
from floodmark.query.static_rows import check_static
from floodmark.session.statement_progress import StatementProgress, find_epoch, statement_progress
from floodmark.session.statements import run_write_epoch, write_notices
from floodmark.sql import statements as s
from floodmark.storage.logs.epochs import dml_of
from floodmark.tables.results import Result
from floodmark.warehouse.deployed import Deployed

_HARMLESS = s.Select | s.Show | s.Describe | s.Explain | s.SetOption | s.CopyTo
Control = s.Begin | s.Commit | s.Rollback


@dataclass
class _TransactionBase:
    """What a transaction stands on, and what it has written so far."""

    base: Reader
    deployed: Deployed
    positions: Mapping[str, Mapping[int, int]]
    written: list[DmlResult] = field(default_factory=list)

    def start(self, key: str) -> int:
        """Return the number of the next row that a statement writes into a table."""
        logged = self.positions.get(dml_of(key), {}).get(0, 0)
        entries = (w.entry for w in self.written if w.entry is not None)
        return logged + sum(int(e["rows"]) for e in entries if e["table"] == key)

    def reader(self) -> Reader:
        """Return the reader of the rows that a statement sees now."""
        reader = self.base
        mine = sorted((w for w in self.written if w.entry), key=lambda w: w.target.key)
        for _, group in groupby(mine, key=lambda w: w.target.key):
            each = list(group)
            entries = [w.entry for w in each if w.entry is not None]
            reader = overlaid(reader, each[0].target, entries)
        return reader


class Transaction:
    """The transaction of one connection: none, an open one, or one that has failed."""

    def __init__(self, loop: EpochLoop, read: Callable[[], Reader]) -> None:
        self._loop = loop
        self._warehouse = loop.warehouse
        self._read = read
        self._base: _TransactionBase | None = None
        self.is_open = False
        self.has_failed = False

    def run(self, statement: s.Statement, alone: Callable[[s.Statement], Result]) -> Result:
        """Execute a statement in the transaction, or `alone` if none is open or it only reads.

        Raises E0421 after an error until ROLLBACK, and E0422 for a statement that cannot be in a
        transaction.
        """
        if isinstance(statement, Control):
            return self._control(statement)
        if not self.is_open:
            return alone(statement)
        with self.failing():
            self._refuse(statement)
            if isinstance(statement, Writing):
                return self._write(statement)
            return alone(statement)

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Fail an open transaction on an error of the block; only ROLLBACK is possible then."""
        try:
            yield
        except BaseException:
            self.has_failed = self.is_open
            raise

    def reader(self) -> Reader:
        """Return the reader of a query: of the transaction, or of the last sealed epoch."""
        if self.has_failed:
            raise _abort_error(None)
        return self._ground().reader() if self.is_open else self._read()

    def close(self) -> None:
        """Abandon an open transaction without writing it; only ROLLBACK is possible then."""
        self.has_failed = self.is_open
        self._discard()

    def _refuse(self, statement: s.Statement) -> None:
        if self.has_failed:
            raise _abort_error(statement.span)
        if not isinstance(statement, _HARMLESS | Writing):
            raise DataError(
                "E0422",
                f"{statement.words} cannot run inside a transaction block",
                span=statement.span,
                hint="a transaction holds INSERT, UPDATE, DELETE, COPY and queries; COMMIT first",
            )

    def _control(self, statement: Control) -> Result:
        match statement:
            case s.Begin() if self.is_open:
                return Result(
                    status="BEGIN", notices=("there is already a transaction in progress",)
                )
            case s.Begin():
                self.is_open, self.has_failed = True, False
                return Result(status="BEGIN")
            case _ if not self.is_open:
                word = "COMMIT" if isinstance(statement, s.Commit) else "ROLLBACK"
                return Result(status=word, notices=("there is no transaction in progress",))
            case s.Commit() if not self.has_failed:
                return self._commit()
            case _:
                self._end()
                return Result(status="ROLLBACK")

    def _ground(self) -> _TransactionBase:
        """Return the base of the transaction, fixed by its first statement."""
        if self._base is None:
            warehouse = self._warehouse
            with self._loop.hold("BEGIN"):
                positions = warehouse.log.positions()
                self._base = _TransactionBase(self._read(), warehouse.deployed(), positions)
        return self._base

    def _write(self, statement: Writing) -> Result:
        started = self._ground()
        target = target_of(statement, started.deployed)
        start = started.start(target.key)
        written = write_rows(statement, target, self._warehouse, started.reader(), start)
        started.written.append(written)
        return written.result

    def _commit(self) -> Result:
        """Log what was written as one epoch; nothing is one of no rows."""
        started = self._base
        if started is None or not any(w.entry for w in started.written):
            self._end()
            return Result(status="COMMIT")
        logged = StatementProgress()
        try:
            with statement_progress("COMMIT", self._warehouse, logged), self._loop.hold("COMMIT"):
                self._check(started)
                epoch = run_write_epoch(started.written, self._loop, logged)
        except BaseException as error:
            if find_epoch(logged, self._warehouse) is not None:
                started.written.clear()
                self._end()
            elif not isinstance(error, TransientError):
                self._end()
            raise
        keys = dict.fromkeys(w.target.key for w in started.written if w.entry)
        started.written.clear()
        self._end()
        notices = write_notices(list(keys), epoch, self._warehouse)
        return Result(status="COMMIT", notices=notices)

    def _check(self, started: _TransactionBase) -> None:
        """Raise E0423 where what was written rests on what has changed since; E0237."""
        now = self._read()
        if self._warehouse.deployed().version != started.deployed.version:
            raise _conflict("the definitions have")
        positions = self._warehouse.log.positions()
        for written in started.written:
            name = dml_of(written.target.key)
            if positions.get(name) != started.positions.get(name):
                raise _conflict(f"{written.target.name} has")
            check_static(written.target, now, None)
        read = {key for written in started.written for key in written.reads}
        for epoch in range(started.base.cut.epoch + 1, now.cut.epoch + 1):
            records = self._warehouse.log.seal_record(epoch).objects
            for key in sorted(read):
                record = records.get(key) or records.get(key.rpartition("__")[0])
                if record is not None and record.touched and record.rows_out:
                    raise _conflict(f"{record.object} has")

    def _end(self) -> None:
        self._discard()
        self.is_open = self.has_failed = False

    def _discard(self) -> None:
        for written in () if self._base is None else self._base.written:
            written.discard()
        self._base = None


def _abort_error(span: Span | None) -> DataError:
    return DataError(
        "E0421",
        "current transaction is aborted, commands ignored until end of transaction block",
        span=span,
        hint="ROLLBACK ends it; none of its statements is written",
    )


def _conflict(what: str) -> DataError:
    return DataError(
        "E0423",
        f"could not serialize access due to concurrent update: {what} changed since the "
        "transaction began",
        hint="none of its statements was written; run the transaction again",
    )
