"""Runs many programs on Spark at once: one warehouse, one epoch of the engine for epoch N of all.

Each program's objects get a prefix of their own. Its results are read from the tables at rest,
after the last epoch, without Spark.
"""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from program_format import DAY, Epoch, Line, Program, Shown, decoded, input_names, mismatch
from program_reference import compile_sql

import floodmark
from floodmark.analysis.pipeline import AnalysedObject, Pipeline
from floodmark.catalog.types import BIGINT, INT, VARCHAR, Field, Schema, SqlType
from floodmark.catalog.types import Kind as TypeKind
from floodmark.changelog import EPOCH, KIND, ROW_ID, WEIGHT, RowKind
from floodmark.errors import UserError
from floodmark.reference.expressions import evaluate
from floodmark.runtime import deployment, dml, layout
from floodmark.runtime.equivalence import compare, compares
from floodmark.runtime.results import python_rows
from floodmark.spark.session import Sessions
from floodmark.storage.epoch_log import ObjectRecord

AT_ONCE = 8
"""How many views one Spark job compares with their queries."""
_MIDNIGHT = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC)
_NAMES = {652: "not_null", 653: "null_time"}
_CREATED = re.compile(
    r"\bCREATE\s+(?:MATERIALIZED\s+VIEW|VIEW|TABLE|SOURCE|SINK)\s+(\w+)", re.IGNORECASE
)
_TABLE = re.compile(r"CREATE\s+TABLE\s+(\w+)[^;]*", re.IGNORECASE)
_WORD = re.compile(r"'(?:[^']|'')*'|\w+")


class FixedClock:
    """A clock that stands until it is set."""

    def __init__(self, now: datetime) -> None:
        self.time = now

    def now(self) -> datetime:
        """Return the time that it was set to."""
        return self.time


@dataclass(frozen=True)
class Case:
    """A program whose objects have names that no other program of the run has."""

    program: Program
    prefix: str
    folder: Path
    by_connector: frozenset[str] = frozenset()

    @cached_property
    def sql(self) -> str:
        """Return the SQL with prefixed names, and folders for what a connector reads."""
        names = set(_CREATED.findall(self.program.sql))
        text = _TABLE.sub(self._with_connector, self.program.sql)
        text = re.sub(r"path = '(\w+)'", lambda m: f"path = '{self.folder / m[1]}'", text)
        return _WORD.sub(lambda m: self.named(m[0]) if m[0] in names else m[0], text)

    def _with_connector(self, found: re.Match[str]) -> str:
        if found[1] not in self.by_connector:
            return found[0]
        options = f"WITH (connector = 'files', path = '{found[1]}') FORMAT PLAIN ENCODE PARQUET"
        return f"{found[0].rstrip()} {options}"

    def named(self, name: str) -> str:
        """Return the name that an object of the program has in the run."""
        return f"{self.prefix}{name}"

    def owns(self, key: str) -> bool:
        """Tell whether an object of the run is the program's."""
        return key.startswith(self.prefix)


def case_of(program: Program, written: Program, prefix: str, root: Path, *, use_dml: bool) -> Case:
    """Return a case; a table that is only inserted into has a connector, unless `use_dml`.

    `program` is `written` or has other epochs. DML refuses a NULL in a NOT NULL column; a
    connector puts it aside, so tables of which dead letters are expected always have one.
    """
    labels = {label for epoch in written.epochs for label in epoch.expected}
    changed = {
        name
        for epoch in written.epochs
        for name, lines in epoch.inputs.items()
        for line in lines
        if line.kind is not RowKind.INSERT
    }
    chosen = input_names(written.sql) - changed
    if use_dml:
        chosen = frozenset(name for name in chosen if f"dead {name}" in labels)
    return Case(program, prefix, root / prefix, frozenset(chosen))


def partitions_of(program: Program) -> set[str]:
    """Return the partitions that a program's inputs name."""
    return {
        line.partition
        for epoch in program.epochs
        for lines in epoch.inputs.values()
        for line in lines
    }


def has_own_clock(program: Program) -> bool:
    """Tell whether some epoch says what time it is."""
    return any(epoch.now != _MIDNIGHT + timedelta(minutes=epoch.number) for epoch in program.epochs)


@dataclass(frozen=True)
class Outcome:
    """What one run made of its programs.

    `broken` has the error of each suspended object; `unequal`, by view and epoch, how many rows a
    view and its query in batch do not share.
    """

    pipeline: Pipeline
    found: Mapping[str, Found]
    broken: Mapping[str, str]
    unequal: Mapping[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """Everything that one object emitted, by epoch, and its final rows."""

    changes: Mapping[int, list[Shown]]
    late: Mapping[int, list[Shown]]
    dead: Mapping[int, list[Shown]]
    rows: tuple[tuple[Any, ...], ...]


class Run:
    """A warehouse in which all cases advance together."""

    def __init__(self, root: Path, sessions: Sessions, cases: Sequence[Case]) -> None:
        self.cases = cases
        self.clock = FixedClock(cases[0].program.epochs[0].now)
        self.fm = floodmark.connect(root / "warehouse", clock=self.clock, sessions=lambda: sessions)
        self.pipeline = compile_sql(";\n".join(case.sql.rstrip("; \n") for case in cases))
        self._folder = root
        self._taken: dict[str, int] = {}
        self._create_folders()

    def _create_folders(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for item in self.pipeline.objects.values():
            if item.declared is not None and item.declared.connector is not None:
                Path(dict(item.declared.options)["path"]).mkdir(parents=True, exist_ok=True)

    def epoch(self, number: int, inputs: Iterable[tuple[Case, Epoch]]) -> None:
        """Feed one epoch of every case and advance; the first one creates the objects too."""
        statements = []
        for case, epoch in inputs:
            self.clock.time = max(self.clock.time, epoch.now)
            for name, lines in epoch.inputs.items():
                target = self.pipeline[case.named(name)]
                assert target.declared is not None
                if not lines:
                    continue
                if target.declared.connector is not None:
                    self._deliver(number, target, lines)
                else:
                    statements.append(self._logged(number, target, lines))
        scheduler = self.fm.scheduler
        with scheduler.held("a test"):
            if number == 1:
                applied = deployment.statements_of(self.pipeline.catalog)
                scheduler.catalogs.append(1, applied, self.clock.now())
                scheduler._deployed = deployment.Deployed(1, self.pipeline)
            deployed = scheduler.deployed()
            offers = scheduler.offers.of(deployed.pipeline)
            opened = scheduler._open(number, deployed.version, self.clock.now(), offers, statements)
            scheduler._run(opened)

    def _deliver(self, number: int, target: AnalysedObject, lines: Sequence[Line]) -> None:
        declared = target.declared
        assert declared is not None
        rows = [values for _, values in decoded(lines, [f.type for f in declared.physical])]
        path = Path(dict(declared.options)["path"]) / f"{number:04}.parquet"
        pq.write_table(arrow(declared.physical, rows), path)

    def _logged(self, number: int, target: AnalysedObject, lines: Sequence[Line]) -> dict[str, Any]:
        """Write rows as a DML statement would and return its entry in the epoch log."""
        start = self._taken.get(target.key, 0)
        rows = [
            self._operation(kind, values, target, start + i)
            for i, (kind, values) in enumerate(decoded(lines, _given(target)))
        ]
        extra = (Field(WEIGHT, INT), Field(dml.DML_ORDINAL, BIGINT))
        rows = [(*row, i) for i, row in enumerate(rows)]
        path = self._folder / f"{target.key}-{number}.parquet"
        pq.write_table(arrow((*target.relation.columns, *extra), rows), path)
        self._taken[target.key] = start + len(rows)
        return {"table": target.key, "paths": [str(path)], "rows": len(rows), "start": start}

    def _operation(
        self, kind: RowKind, values: tuple[Any, ...], target: AnalysedObject, number: int
    ) -> tuple[Any, ...]:
        declared = target.declared
        assert declared is not None
        row = dict(zip((f.name for f in declared.physical), values, strict=True))
        for column in declared.columns:
            if column.generated is not None:
                row[column.name], _ = evaluate(column.generated, row, self.clock.now())
        row[ROW_ID] = dml.PARTITION << 47 | number
        weight = 1 if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
        return (*(row.get(f.name) for f in target.relation.columns), weight)

    def outcome(self) -> Outcome:
        """Return what is at rest in the warehouse."""
        found = {item.key: self._found(item) for item in self.pipeline.stored}
        log = self.fm.scheduler.log
        broken = {key: event.message for key, event in log.suspended().items()}
        return Outcome(self.pipeline, found, broken)

    def _found(self, item: AnalysedObject) -> Found:
        shown = item.relation.visible
        current = self._read(layout.current_table(item), (*shown, Field(EPOCH, BIGINT)))
        if item.append_only:
            changes = _by_epoch((row[-1], RowKind.INSERT, row[:-1]) for row in current)
        else:
            head = (Field(EPOCH, BIGINT), Field(KIND, VARCHAR))
            rows = self._read(layout.changes_table(item), (*head, *shown))
            changes = _by_epoch((epoch, RowKind(kind), tuple(row)) for epoch, kind, *row in rows)
        late = self._read(layout.late_table(item), (*shown, Field(EPOCH, BIGINT)))
        return Found(
            changes,
            _by_epoch((row[-1], RowKind.INSERT, row[:-1]) for row in late),
            self._dead(item),
            tuple(row[:-1] for row in current),
        )

    def _dead(self, item: AnalysedObject) -> dict[int, list[Shown]]:
        """Return the dead letters and those taken back, less what cancels out in its epoch."""
        rows = self._read(layout.dead_letter_table(item), layout.DEAD_LETTER)
        sums: Counter[tuple[Any, ...]] = Counter()
        for epoch, weight, error in rows:
            sums[epoch, error["code"], error["expression"], error["row"]] += weight
        out: list[tuple[int, RowKind, tuple[Any, ...]]] = []
        for (epoch, code, *_), weight in sums.items():
            kind = RowKind.INSERT if weight > 0 else RowKind.DELETE
            out += [(epoch, kind, (_NAMES.get(code, f"E{code:04}"),))] * abs(weight)
        return _by_epoch(out)

    def _read(self, table: str, columns: Schema) -> list[tuple[Any, ...]]:
        store = self.fm.store
        if not store.exists(table):
            return []
        handle = store.open(table)
        names = [f.name for f in columns]
        out: list[tuple[Any, ...]] = []
        for path in store.paths(handle, handle.files):
            data = pq.read_table(path, columns=names, partitioning=None).select(names)
            out += python_rows(data, columns)
        return out


def _given(target: AnalysedObject) -> list[SqlType]:
    assert target.declared is not None
    return [f.type for f in target.declared.physical]


def _by_epoch(
    rows: Iterable[tuple[int, RowKind, tuple[Any, ...]]],
) -> dict[int, list[Shown]]:
    out: dict[int, list[Shown]] = {}
    for epoch, kind, values in rows:
        out.setdefault(epoch, []).append((kind, values))
    return out


_ARROW = {
    TypeKind.BOOLEAN: pa.bool_(),
    TypeKind.SMALLINT: pa.int16(),
    TypeKind.INT: pa.int32(),
    TypeKind.BIGINT: pa.int64(),
    TypeKind.REAL: pa.float32(),
    TypeKind.DOUBLE: pa.float64(),
    TypeKind.VARCHAR: pa.string(),
    TypeKind.DATE: pa.date32(),
    TypeKind.TIME: pa.int64(),
    TypeKind.TIMESTAMP: pa.timestamp("us"),
    TypeKind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
}


def arrow(schema: Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Return rows as an Arrow table of the types in which the engine keeps them."""
    columns = list(zip(*rows, strict=True))
    arrays = [pa.array(c, _arrow(f.type)) for c, f in zip(columns, schema, strict=True)]
    return pa.table(arrays, names=[f.name for f in schema])


def _arrow(type_: SqlType) -> pa.DataType:
    if type_.kind is TypeKind.NUMERIC:
        return pa.decimal128(type_.precision, type_.scale)
    return _ARROW[type_.kind]


def mismatches(case: Case, outcome: Outcome) -> Iterator[str]:
    """Yield where a program expects something else than the run emitted."""
    for epoch in case.program.epochs:
        for text in _mismatches(case, epoch, outcome):
            yield f"{case.program.name}, epoch {epoch.number}: {text}"


def _mismatches(case: Case, epoch: Epoch, outcome: Outcome) -> Iterator[str]:
    for key, found in outcome.found.items():
        if not case.owns(key):
            continue
        name = key.removeprefix(case.prefix)
        types = [f.type for f in outcome.pipeline[key].relation.visible]
        if name in case.program.checked:
            yield from _told(name, epoch, types, found.changes)
        yield from _told(f"late {name}", epoch, types, found.late)
        lines = epoch.expected.get(f"dead {name}", ())
        reasons: list[Shown] = [(line.kind, (line.values[0],)) for line in lines]
        text = mismatch(f"dead {name}", reasons, found.dead.get(epoch.number, []))
        if text is not None:
            yield text


def _told(
    label: str, epoch: Epoch, types: list[SqlType], found: Mapping[int, list[Shown]]
) -> Iterator[str]:
    expected = decoded(epoch.expected.get(label, ()), types)
    text = mismatch(label, expected, found.get(epoch.number, []))
    if text is not None:
        yield text


def whole(program: Program) -> Program:
    """Return the program with all its rows in one epoch, and nothing expected."""
    last = program.epochs[-1]
    inputs: dict[str, tuple[Line, ...]] = {}
    for epoch in program.epochs:
        for name, lines in epoch.inputs.items():
            inputs[name] = (*inputs.get(name, ()), *lines)
    return replace(program, epochs=(Epoch(1, last.now, inputs),))


def single(program: Program) -> Program:
    """Return the program with one row (an old row with its new one) per epoch."""
    parts: list[tuple[str, tuple[Line, ...]]] = []
    for epoch in program.epochs:
        for name, lines in epoch.inputs.items():
            part: tuple[Line, ...] = ()
            for line in lines:
                part = (*part, line)
                if line.kind is not RowKind.UPDATE_BEFORE:
                    parts.append((name, part))
                    part = ()
    now = program.epochs[-1].now
    epochs = tuple(Epoch(i, now, {name: p}) for i, (name, p) in enumerate(parts, 1))
    return replace(program, epochs=epochs or (Epoch(1, now),))


def run_all(cases: Sequence[Case], root: Path, sessions: Sessions) -> Run:
    """Advance all cases through their epochs and return the run."""
    run = Run(root, sessions, cases)
    last = max(len(case.program.epochs) for case in cases)
    for number in range(1, last + 1):
        running = [c for c in cases if len(c.program.epochs) >= number]
        run.epoch(number, [(c, c.program.epochs[number - 1]) for c in running])
    return run


def unequal(run: Run, outcome: Outcome) -> dict[tuple[str, int], int]:
    """Return where views differ from their queries in batch, after each epoch."""
    out: dict[tuple[str, int], int] = {}
    log = run.fm.scheduler.log
    for epoch in range(1, log.head().sealed + 1):
        touched = {key for key, record in log.sealed(epoch).objects.items() if record.touched}
        views = [
            item.key
            for item in run.pipeline.stored
            if compares(item) and touched & {item.key, *item.reads}
        ]
        views = [key for key in views if key not in outcome.broken]
        for start in range(0, len(views), AT_ONCE):
            found = compare(run.fm, views[start : start + AT_ONCE], epoch)
            counts = {(key, epoch): d.missing + d.surplus for key, d in found.items()}
            out.update({at: count for at, count in counts.items() if count})
    return out


Advance = Callable[..., ObjectRecord]


def isolated(advance: Advance) -> Advance:
    """Return an advance whose crashes suspend the object, so that the other programs go on."""

    def guarded(found: AnalysedObject, *rest: Any) -> ObjectRecord:
        try:
            return advance(found, *rest)
        except UserError:
            raise
        except Exception as error:
            raise UserError("E0699", _told_briefly(error)) from error

    return guarded


def _told_briefly(error: Exception) -> str:
    """Return where an error comes from and how its message starts; Spark's goes on for pages."""
    where = "".join(traceback.format_tb(error.__traceback__)[-6:])
    return f"{where}{type(error).__name__}: {str(error)[:1500]}"
