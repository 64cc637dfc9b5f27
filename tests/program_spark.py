"""Runs many programs on Spark at once: one warehouse, one epoch of the engine for epoch N of all.

Each program's objects get a prefix of their own. Its results are read from the tables at rest,
after the last epoch, without Spark.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import floodmark
from floodmark.catalog.objects import SINK_PREFIX
from floodmark.changelog import RowKind
from floodmark.epochs.opening import open_epoch
from floodmark.errors import UserError
from floodmark.limits import LIMITS, Limits
from floodmark.scalar.types import SqlType
from floodmark.session.audit.accounts import accounts
from floodmark.spark.session import Sessions
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.testing import FixedClock
from floodmark.testing.delivery import deliver, log_rows
from floodmark.testing.output import ObjectOutput, read_output
from floodmark.testing.program import Epoch, Program, input_names
from floodmark.testing.text import START, Line, TextRow, decode_rows, mismatch
from floodmark.tools.equivalence import compare, compares
from floodmark.warehouse.deployed import Deployed, statements_of
from tests.program_reference import compile_sql

AT_ONCE = 8
"""How many views one Spark job compares with their queries."""
_NAMES = {"E0652": "not_null", "E0653": "null_time", "E0658": "future_time"}
"""The dead letters that the reference calls by name."""
_CREATED = re.compile(
    r"\bCREATE\s+(?:MATERIALIZED\s+VIEW|VIEW|TABLE|SOURCE|SINK)\s+(\w+)", re.IGNORECASE
)
_TABLE = re.compile(r"CREATE\s+TABLE\s+(\w+)[^;]*", re.IGNORECASE)
_SINK = re.compile(r"CREATE\s+SINK\s+\w+\s+INTO\s+(\w+)", re.IGNORECASE)
_WORD = re.compile(r"'(?:[^']|'')*'|\w+")


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
        own = f"connector = 'files', path = '{found[1]}'"
        head, given, options = found[0].rstrip().partition("WITH (")
        with_ = f"WITH ({own}, {options}" if given else f"{head} WITH ({own})"
        return f"{head if given else ''}{with_} FORMAT PLAIN ENCODE PARQUET"

    def named(self, name: str) -> str:
        """Return the name that an object of the program has in the run."""
        return f"{self.prefix}{name}"

    def owns(self, key: str) -> bool:
        """Tell whether an object of the run is the program's."""
        return key.removeprefix(SINK_PREFIX).startswith(self.prefix)


def case_of(program: Program, written: Program, prefix: str, root: Path, *, use_dml: bool) -> Case:
    """Return a case; a table that is only inserted into has a connector, unless `use_dml`.

    `program` is `written` or has other epochs. DML refuses a NULL in a NOT NULL column; a
    connector puts it aside, so tables of which dead letters are expected always have one; so have
    those that sinks write, because statements come after every sink. One with a watermark never
    has: rows of a connector are judged one by one, those of a statement together.
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
        sunk = set(_SINK.findall(written.sql))
        chosen = frozenset(name for name in chosen if f"dead {name}" in labels or name in sunk)
    marked = {found[1] for found in _TABLE.finditer(written.sql) if "WATERMARK" in found[0]}
    return Case(program, prefix, root / prefix, frozenset(chosen) - marked)


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
    return any(epoch.now != START + timedelta(minutes=epoch.number) for epoch in program.epochs)


@dataclass(frozen=True)
class Outcome:
    """What one run made of its programs.

    `broken` has the error of each suspended object; `unequal`, by view and epoch, how many rows a
    view and its query in batch do not share; `faults` what does not add up over all epochs.
    """

    pipeline: Pipeline
    found: Mapping[str, ObjectOutput]
    broken: Mapping[str, str]
    unequal: Mapping[tuple[str, int], int] = field(default_factory=dict)
    faults: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Run:
    """A warehouse in which all cases advance together; so many of their epochs are `done` there."""

    def __init__(
        self,
        root: Path,
        sessions: Sessions,
        cases: Sequence[Case],
        limits: Limits = LIMITS,
        *,
        done: int = 0,
    ) -> None:
        self.cases = cases
        self.clock = FixedClock(cases[0].program.epochs[0].now)
        self.fm = floodmark.connect(
            root / "warehouse", clock=self.clock, sessions=lambda: sessions, limits=limits
        )
        self._rewrite_bytes = limits.rewrite_bytes
        self.pipeline = compile_sql(";\n".join(case.sql.rstrip("; \n") for case in cases))
        self._folder = root
        self._taken: dict[str, int] = {}
        self._create_folders()
        for case in cases:
            for epoch in case.program.epochs[:done]:
                self._count(case, epoch)

    def _create_folders(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for obj in self.pipeline.objects.values():
            if obj.declared is not None and obj.declared.connector is not None:
                Path(dict(obj.declared.options)["path"]).mkdir(parents=True, exist_ok=True)

    def epoch(self, number: int, inputs: Iterable[tuple[Case, Epoch]]) -> None:
        """Feed one epoch of every case and advance; the first one creates the objects too."""
        statements = []
        for case, epoch in inputs:
            self.clock.set(max(self.clock.now(), epoch.now))
            for name, lines in epoch.inputs.items():
                target = self.pipeline[case.named(name)]
                assert target.declared is not None
                if not lines:
                    continue
                if target.declared.connector is not None:
                    deliver(target, lines, number)
                else:
                    statements.append(self._logged(number, target, lines))
        loop, warehouse = self.fm.loop, self.fm.warehouse
        with loop.hold("a test"):
            if number == 1:
                applied = statements_of(self.pipeline.catalog)
                warehouse.catalogs.append(1, applied, self.clock.now())
                warehouse.remember(Deployed(1, self.pipeline))
            deployed = warehouse.deployed()
            offers = warehouse.splits.new_splits(deployed.pipeline)
            opened = open_epoch(
                warehouse, number, deployed.version, self.clock.now(), offers, statements
            )
            # In every other epoch Spark rewrites what is small, too.
            small = self._rewrite_bytes if number % 2 else 0
            warehouse.limits = replace(warehouse.limits, rewrite_bytes=small)
            loop._run(opened)

    def _count(self, case: Case, epoch: Epoch) -> None:
        """Count the rows that statements have given tables."""
        for name, lines in epoch.inputs.items():
            key = self.pipeline[case.named(name)].key
            self._taken[key] = self._taken.get(key, 0) + len(lines)

    def _logged(self, number: int, target: AnalysedObject, lines: Sequence[Line]) -> dict[str, Any]:
        start = self._taken.get(target.key, 0)
        self._taken[target.key] = start + len(lines)
        path = self._folder / f"{target.key}-{number}.parquet"
        return log_rows(target, lines, path, start, self.clock.now())

    def outcome(self) -> Outcome:
        """Return what is at rest in the warehouse."""
        found = {obj.key: read_output(self.fm.store, obj) for obj in self.pipeline.writing_objects}
        log = self.fm.warehouse.log
        broken = {key: event.message for key, event in log.suspensions().items()}
        faults = {a.object: a.faults for a in accounts(self.fm.warehouse) if a.faults}
        return Outcome(self.pipeline, found, broken, faults=faults)


def mismatches(case: Case, outcome: Outcome) -> Iterator[str]:
    """Yield where a program expects something else than the run emitted."""
    for epoch in case.program.epochs:
        for text in _mismatches(case, epoch, outcome):
            yield f"{case.program.name}, epoch {epoch.number}: {text}"


def _mismatches(case: Case, epoch: Epoch, outcome: Outcome) -> Iterator[str]:
    for key, found in outcome.found.items():
        if not case.owns(key):
            continue
        name = key.removeprefix(SINK_PREFIX).removeprefix(case.prefix)
        types = [f.type for f in outcome.pipeline[key].relation.visible]
        if name in case.program.outputs:
            yield from _told(name, epoch, types, found.changes)
        yield from _told(f"late {name}", epoch, types, found.late)
        lines = epoch.expected.get(f"dead {name}", ())
        reasons: list[TextRow] = [(line.kind, (line.values[0],)) for line in lines]
        dead = [(k, (_NAMES.get(v, v),)) for k, (v,) in found.dead.get(epoch.number, [])]
        text = mismatch(f"dead {name}", reasons, dead)
        if text is not None:
            yield text


def _told(
    label: str, epoch: Epoch, types: list[SqlType], found: Mapping[int, list[TextRow]]
) -> Iterator[str]:
    expected = decode_rows(epoch.expected.get(label, ()), types)
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


def run_all(cases: Sequence[Case], root: Path, sessions: Sessions, limits: Limits = LIMITS) -> Run:
    """Advance all cases through their epochs and return the run."""
    run = Run(root, sessions, cases, limits)
    last = max(len(case.program.epochs) for case in cases)
    for number in range(1, last + 1):
        running = [c for c in cases if len(c.program.epochs) >= number]
        run.epoch(number, [(c, c.program.epochs[number - 1]) for c in running])
    return run


def unequal(
    run: Run, outcome: Outcome, cases: Sequence[Case], *, every: bool = False
) -> dict[tuple[str, int], int]:
    """Return where views of some cases of a run differ from their queries in batch.

    They are compared after the last epoch that touched them, or after `every` one.
    """
    log = run.fm.warehouse.log
    touched: dict[int, list[str]] = {}
    for epoch in range(1, log.head().sealed + 1):
        changed = {key for key, record in log.seal_record(epoch).objects.items() if record.touched}
        views = [
            obj.key
            for obj in run.pipeline.writing_objects
            if compares(obj)
            and changed & {obj.key, *obj.reads}
            and any(case.owns(obj.key) for case in cases)
        ]
        touched[epoch] = [key for key in views if key not in outcome.broken]
    last = {key: epoch for epoch, views in touched.items() for key in views}
    out: dict[tuple[str, int], int] = {}
    for epoch, views in touched.items():
        chosen = [key for key in views if every or last[key] == epoch]
        for start in range(0, len(chosen), AT_ONCE):
            found = compare(run.fm, chosen[start : start + AT_ONCE], epoch)
            counts = {(key, epoch): d.rows for key, d in found.items()}
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
