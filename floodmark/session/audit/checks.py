"""Checks of an object's invariants over its epochs, from the log, file lists and one query.

File statistics answer checks of NULLs, bounds and row counts. All other checks of all objects are
one Spark query over the changes of these epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

from floodmark.catalog.objects import ObjectKind
from floodmark.changelog import EPOCH, KIND
from floodmark.epochs.summary import describe_field_differences
from floodmark.errors import DataError
from floodmark.session.inspect.closed_windows import late_condition
from floodmark.session.inspect.reporting import STORED, ObjectReport, files_at_version
from floodmark.spark.round_trips import fetch
from floodmark.spark.types import ident
from floodmark.storage.files.pruning import prune
from floodmark.storage.table import DataFile
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.external_sink import FILES
from floodmark.tables import layout
from floodmark.tables.current import count_rows
from floodmark.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NOT_SUSPENDED = "not_suspended"
STREAM_KEY = "stream_key_unique"
WELL_FORMED = "changelog_well_formed"
ACCOUNTED = "rows_accounted_for"
MONOTONIC = "watermark_monotonic"
FINAL = "closed_windows_final"
COLUMNS = "columns_hold"
FIELDS = "fields_match"
WARNINGS = frozenset({FIELDS})
"""Checks that stop nobody: what they find may be meant."""
_KINDS = {"+I": "i", "-D": "d", "-U": "b", "+U": "a"}
_SOUND = "(i + d = 1 AND b + a = 0 OR i + d = 0 AND b = 1 AND a = 1)"


@dataclass(frozen=True)
class RowRule:
    """A condition on one column that every row fulfils, as Spark SQL; NULLs pass.

    `low` and `high` are bounds that imply it: file statistics within them prove it.
    """

    name: str
    column: str
    predicate: str
    low: Any = None
    high: Any = None
    only_bounds: bool = False


@dataclass(frozen=True)
class CheckResult:
    """The result of a check: the number of violations of each kind; none if it passed."""

    check: str
    violations: Mapping[str, int] = field(default_factory=dict)
    note: str = ""

    @property
    def is_passed(self) -> bool:
        """Tell whether nothing violates the check."""
        return not any(self.violations.values())


def checks_of(obj: AnalysedObject) -> tuple[str, ...]:
    """Return the names of the checks that an object has."""
    if obj.kind not in STORED:
        return ()
    names = [NOT_SUSPENDED, STREAM_KEY, WELL_FORMED, COLUMNS]
    if obj.kind is ObjectKind.SOURCE:
        names.append(ACCOUNTED)
    if obj.declared is not None and obj.declared.connector == FILES:
        names.append(FIELDS)
    if obj.relation.watermarks:
        names.append(MONOTONIC)
    if obj.emits_on_close:
        names.append(FINAL)
    return tuple(names)


def run_checks(
    warehouse: Warehouse,
    reports: Sequence[ObjectReport],
    rules: Mapping[str, Sequence[RowRule]],
) -> dict[str, tuple[CheckResult, ...]]:
    """Return the outcomes of all checks of each reported object, by its key.

    `rules` are further conditions on the columns of an object. Spark is attached only if an object
    has changes to check.
    """
    stored = [r for r in reports if r.obj.kind in STORED]
    audits = [
        _Audit(warehouse, r, tuple(rules.get(r.key, ()))) for r in stored if r.suspended is None
    ]
    counted = _count([a for a in audits if a.report.steps])
    out = {a.report.key: a.outcomes(counted.get(a.report.key, {})) for a in audits}
    for report in stored:
        if report.suspended is not None:
            note = f"{report.suspended.code}: {report.suspended.message}"
            out[report.key] = (CheckResult(NOT_SUSPENDED, {"suspended": 1}, note),)
    return out


@dataclass
class _Audit:
    """The checks of one object over the epochs of its report."""

    warehouse: Warehouse
    report: ObjectReport
    rules: tuple[RowRule, ...]

    @property
    def obj(self) -> AnalysedObject:
        return self.report.obj

    def outcomes(self, counted: Mapping[str, int]) -> tuple[CheckResult, ...]:
        """Return every check's outcome; `counted` is what the query found."""
        made: dict[str, Callable[[], dict[str, int]]] = {
            NOT_SUSPENDED: dict,
            STREAM_KEY: lambda: {"duplicates": counted.get("duplicates", 0)},
            WELL_FORMED: lambda: self._well_formed(counted),
            ACCOUNTED: lambda: self._missing_rows(counted),
            MONOTONIC: self._went_back,
            FINAL: lambda: self._final(counted),
            COLUMNS: lambda: self._columns(counted),
        }
        said = describe_field_differences(self.obj, [step.after for step in self.report.steps])
        return tuple(
            CheckResult(FIELDS, {"unlike": int(said is not None)}, said or "")
            if name == FIELDS
            else CheckResult(name, made[name]())
            for name in checks_of(self.obj)
        )

    def _well_formed(self, counted: Mapping[str, int]) -> dict[str, int]:
        """Every key has one insert, one delete or one update pair; the stored rows follow."""
        net = counted.get("inserts", 0) - counted.get("deletes", 0)
        grown = self._growth()
        unexplained = 0 if grown is None else abs(grown - net)
        return {"malformed": counted.get("malformed", 0), "unexplained_rows": unexplained}

    def _growth(self) -> int | None:
        """Return by how many rows the table has grown; None where it cannot be told any more."""
        steps = self.report.steps
        if not steps:
            return 0
        if self.obj.period or self.obj.relation.drops_silently:
            return None  # rows that are over leave the disk
        before = steps[0].before
        if before is not None and (before.backfilling or before.position < steps[0].epoch - 1):
            return None  # it caught up in between
        store = self.warehouse.store
        try:
            start = count_rows(store, self.obj, before)
            end = count_rows(store, self.obj, steps[-1].after)
        except DataError:
            return None  # the version that it began with is not kept any more
        return (end or 0) - (start or 0)

    def _files(self) -> tuple[DataFile, ...]:
        table = layout.current_table(self.obj)
        version = self.report.steps[-1].after.versions.get(table)
        return () if version is None else files_at_version(self.warehouse, table, version) or ()

    def _missing_rows(self, counted: Mapping[str, int]) -> dict[str, int]:
        """Rows that came in and are neither stored, left out or ignored, late nor dead letters."""
        done = [step.after for step in self.report.steps]
        if not self.obj.append_only:
            applied = sum(r.rows_in - r.ignored_rows - r.dead_rows for r in done)
            changed = sum(counted.get(name, 0) for name in ("inserts", "updates", "deletes"))
            return {"rows": abs(applied - changed)}
        aside = [r.late_rows + r.dead_rows + r.dropped_rows for r in done]
        lost = sum(abs(r.rows_in - r.rows_written - n) for r, n in zip(done, aside, strict=True))
        kept, grown = sum(r.rows_written for r in done), self._growth()
        return {"rows": lost, "not_stored": 0 if grown is None else abs(kept - grown)}

    def _went_back(self) -> dict[str, int]:
        back = 0
        for step in self.report.steps:
            before, after = step.watermarks_before, step.after.watermarks
            back += sum(1 for c, value in before.items() if c not in after or after[c] < value)
        return {"epochs": back}

    def _final(self, counted: Mapping[str, int]) -> dict[str, int]:
        """Rows are only added, each window once, and none that was closed before."""
        grown = self._growth()
        net = counted.get("inserts", 0) - counted.get("deletes", 0)
        return {
            "rows_below_watermark": counted.get("below", 0),
            "windows_again": counted.get("duplicates", 0),
            "rows_taken_back": 0 if grown is None else max(0, net - grown),
        }

    def _late_condition(self) -> str:
        """Return the condition on rows that come out for what was closed before."""
        if not self.obj.emits_on_close:
            return "FALSE"
        steps, limits = self.report.steps, self.warehouse.limits
        return late_condition(self.obj, steps, self._files(), limits) or "FALSE"

    def _columns(self, counted: Mapping[str, int]) -> dict[str, int]:
        files = self._files() if self.report.steps else ()
        required = [f.name for f in self.obj.relation.visible if not f.nullable]
        nulls = {f"{c}.not_null": sum(f.nulls.get(c, 0) for f in files) for c in required}
        named = {r.name: counted.get(f"rule_{i}", 0) for i, r in enumerate(self.rules)}
        return nulls | named

    def open_rules(self) -> dict[int, RowRule]:
        """Return the rules that statistics do not answer, by their place."""
        files = self._files()
        return {i: rule for i, rule in enumerate(self.rules) if not is_proven(rule, files)}

    def frame(self, rules: int) -> DataFrame | None:
        """Return the object's changes as rows of one shape for all objects.

        Its columns are `object`, `pairs`, what tells keys apart, the four kinds, `below`, and
        `rules` conditions as 0 or 1. `pairs` says that the changes of a key in an epoch have to be
        one insert, one delete or one update pair.
        """
        from pyspark.sql import functions as F

        changes = self._changes()
        if changes is None:
            return None
        pairs = not self.obj.append_only
        key = [ident(c) for c in self.obj.relation.stream_key]
        new = f"{KIND} IN ('+I', '+U')"
        broken = {i: f"{new} AND NOT ({r.predicate})" for i, r in self.open_rules().items()}
        # A hash skips NULLs, so the key's NULLs stand beside it; with two seeds it has 128 bits.
        nulls = ", ".join(["''", *(f"string({c} IS NULL)" for c in key)])
        return changes.select(
            F.lit(self.report.key).alias("object"),
            F.lit(pairs).alias("pairs"),
            *_expressions(
                {
                    "epoch": EPOCH if pairs else "CAST(NULL AS BIGINT)",
                    "key_nulls": f"concat({nulls})",
                    "key_1": f"xxhash64({', '.join(['1', *key])})",
                    "key_2": f"xxhash64({', '.join(['2', *key])})",
                    **{name: f"CAST({KIND} = '{kind}' AS BIGINT)" for kind, name in _KINDS.items()},
                    "below": f"CAST(coalesce({self._late_condition()}, false) AS BIGINT)",
                    **{
                        f"rule_{i}": f"CAST(coalesce({broken.get(i, 'false')}, false) AS BIGINT)"
                        for i in range(rules)
                    },
                }
            ),
        )

    def _changes(self) -> DataFrame | None:
        """Return the changes of the report's epochs, with `__epoch` and `__kind`."""
        only_appends = self.obj.append_only
        table = (layout.current_table if only_appends else layout.changes_table)(self.obj)
        version = self.report.steps[-1].after.versions.get(table)
        if version is None:
            return None
        handle = self.warehouse.tables.open(table, version)
        first, last = self.report.steps[0].epoch, self.report.steps[-1].epoch
        files = prune(handle, None, {EPOCH: (first, last)})
        schema = layout.current_schema if only_appends else layout.changes_schema
        frame = self.warehouse.tables.read(handle, schema(self.obj), files)
        if frame is None:
            return None
        frame = frame.where(f"{EPOCH} BETWEEN {first} AND {last}")
        return frame.selectExpr("*", f"'+I' AS {KIND}") if only_appends else frame


def _expressions(named: Mapping[str, str]) -> list[Any]:
    from pyspark.sql import functions as F

    return [F.expr(text).alias(name) for name, text in named.items()]


def is_proven(rule: RowRule, files: Sequence[DataFile]) -> bool:
    """Tell whether file statistics prove that no row breaks a rule."""
    if not rule.only_bounds:
        return False
    for file in files:
        if file.nulls.get(rule.column) == file.rows:
            continue
        if rule.low is not None and not _is_at_least(file.low.get(rule.column), rule.low):
            return False
        if rule.high is not None and not _is_at_least(rule.high, file.high.get(rule.column)):
            return False
    return True


def _is_at_least(value: Any, bound: Any) -> bool:
    try:
        return value is not None and bound is not None and bool(value >= bound)
    except TypeError:
        return False


def _count(audits: Sequence[_Audit]) -> dict[str, dict[str, int]]:
    """Return the counts of all objects, in one query."""
    if not audits:
        return {}
    rules = max((i + 1 for audit in audits for i in audit.open_rules()), default=0)
    sessions = audits[0].warehouse.sessions()
    with sessions.guard():
        frames = [frame for audit in audits if (frame := audit.frame(rules)) is not None]
        if not frames:
            return {}
        rows = fetch(_totals(reduce(lambda a, b: a.unionAll(b), frames), rules)).to_pylist()
    return {row.pop("object"): row for row in rows}


def _totals(changes: DataFrame, rules: int) -> DataFrame:
    """Return a row per object with its counts, from the changes of all objects."""
    from pyspark.sql import functions as F

    summed = [*_KINDS.values(), "below", *(f"rule_{i}" for i in range(rules))]
    per_key = changes.groupBy("object", "pairs", "epoch", "key_nulls", "key_1", "key_2").agg(
        *(F.sum(name).alias(name) for name in summed)
    )
    totals = {
        "duplicates": "count_if(i > 1 OR a > 1)",
        "malformed": f"count_if(pairs AND NOT {_SOUND})",
        "inserts": "sum(i)",
        "updates": "sum(a)",
        "deletes": "sum(d)",
        "below": "sum(below)",
        **{f"rule_{i}": f"sum(rule_{i})" for i in range(rules)},
    }
    return per_key.groupBy("object").agg(*_expressions(totals))
