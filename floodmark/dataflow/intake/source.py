"""Source: rows of a connector to typed rows with a row id; bad rows and late rows go aside.

Order: parse, defaults, generated columns, row id, NOT NULL, times that are NULL or too far ahead
(dead letters), then the late filter, row by row. A row is late if its time is below the running
watermark of the rows before it, or below the object's watermark of the epoch before. Dead rows do
not raise the watermark, late ones do.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from floodmark.changelog import EPOCH, ERROR, ROW_ID, WEIGHT
from floodmark.connectors.base import BEFORE, FAULT, IGNORED, OPERATION, REASON, UPSERTS
from floodmark.connectors.metadata import metadata_column
from floodmark.dataflow.intake import dead_letter_texts
from floodmark.dataflow.intake.defaults import with_defaults
from floodmark.errors import IntakeCode
from floodmark.plan.declaration import MAX_AHEAD, ColumnInfo, Declaration, WatermarkInfo
from floodmark.scalar.functions.intervals import datetime_of
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.functions.volatile import RowSeed
from floodmark.scalar.types import VARCHAR, Schema
from floodmark.spark.columns import ROUTE, WATERMARK
from floodmark.spark.expressions import compile as compile_expr, compile_bound
from floodmark.spark.literals import literal
from floodmark.spark.rows import ERROR_TYPE, constants, epoch_expr, message_text
from floodmark.spark.types import ident, spark_type
from floodmark.spark.user_functions import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GOOD, DEAD, LATE, NOTHING, WITHDRAWN = 0, 1, 2, 3, 4
"""Where a row goes: `NOTHING` changes no row, `WITHDRAWN` takes a dead letter back."""
PLACE = "__place"
"""VARCHAR: the file and line of a row."""
_WHERE = "nullif(concat_ws(':', __file, CAST(__line AS STRING)), '')"
BLOCK_BITS = 47
"""Bits of a row id below those of the partition."""
_ROW_ID = f"shiftleft(CAST(__partition AS BIGINT), {BLOCK_BITS}) | __offset AS {ROW_ID}"
_WHY = "__why"
_FAULTS = (
    (IntakeCode.TRUNCATE, "op t", "op: 't' is not applied: it would empty the whole table"),
    (IntakeCode.NO_CHANGE, "op", "op: not c, r, u or d, or the row is missing that it needs"),
    (IntakeCode.NO_ROW, "before", "before: NULL is not a row that a delete could take away"),
)


@dataclass(frozen=True)
class LateFilter:
    """Which watermarks can make a row of this epoch late; `before` are their values so far."""

    watermarks: tuple[WatermarkInfo, ...]
    before: dict[str, Any]


def add_types(
    frame: DataFrame, declared: Declaration, epoch: int, now: int, seed: RowSeed
) -> DataFrame:
    """Return the declared columns, the row id, the epoch, and `__error` for rows that are dead."""
    frame = _complete(frame, declared, now, seed)
    limits = latest(declared, now)
    if limits:
        frame = frame.selectExpr("*", constants({_limit(c): text for c, text in limits.items()}))
    names = [ident(c.name) for c in declared.columns]
    passed = ["__partition", "__offset", *([OPERATION, BEFORE] if declared.is_messages else [])]
    why = f"{_dead(declared, limits)} AS {_WHY}"
    marked = frame.selectExpr(*names, _ROW_ID, epoch_expr(epoch), *passed, "__file", "__line", why)
    return marked.selectExpr(*names, ROW_ID, EPOCH, *passed, f"{_WHERE} AS {PLACE}", _error_text())


def required_columns(declared: Declaration, now: int) -> tuple[str, ...] | None:
    """Return the delivered columns without whose values a row that can be read is dead.

    None where other rows may be dead, too: values are computed, or messages say what happens.
    """
    defaults = (c.default for c in declared.columns if c.name in declared.default_columns)
    exprs = (*defaults, *(c.generated for c in declared.columns))
    computed = (e for e in exprs if e is not None)
    if declared.is_messages or any(compile_expr(e, now).error is not None for e in computed):
        return None
    names = [c.name for c in declared.columns if c.not_null]
    names += [mark.column for mark in declared.watermarks]
    return tuple(names) if {f.name for f in declared.physical} >= set(names) else None


def good(frame: DataFrame, declared: Declaration, epoch: int, now: int, seed: RowSeed) -> DataFrame:
    """Return the declared columns, the row id and the epoch of rows none of which goes aside."""
    frame = _complete(frame, declared, now, seed)
    return frame.selectExpr(*(ident(c.name) for c in declared.columns), _ROW_ID, epoch_expr(epoch))


def _complete(frame: DataFrame, declared: Declaration, now: int, seed: RowSeed) -> DataFrame:
    frame = with_defaults(_with_metadata(frame, declared, now), declared, now, seed)
    return _generate(frame, declared, now)


def _with_metadata(frame: DataFrame, declared: Declaration, now: int) -> DataFrame:
    """Add what messages and files say of themselves under the names of the columns."""
    texts = []
    for column in declared.columns:
        if column.metadata is None:
            continue
        value = metadata_column(column.metadata)
        if column.name in declared.ingestion_columns:
            value = f"timestamp_micros({now})"
        texts.append(f"CAST({value} AS {spark_type(column.type)}) AS {ident(column.name)}")
    return frame.selectExpr("*", *texts) if texts else frame


def _generate(frame: DataFrame, declared: Declaration, now: int) -> DataFrame:
    computed = [c for c in declared.columns if c.generated is not None]
    if not computed:
        return frame
    # Text is read in a session of its own, which no view makes functions known to.
    register(frame.sparkSession, (c.generated for c in computed if c.generated is not None))
    texts = []
    for i, column in enumerate(computed):
        assert column.generated is not None
        compiled = compile_expr(column.generated, now)
        texts.append(f"{compiled.value} AS {ident(column.name)}")
        code = compiled.error or "CAST(NULL AS INT)"
        message = message_text(code, compiled.message)
        texts += [f"{code} AS __generated_{i}", f"{message} AS __said_{i}"]
    return frame.selectExpr("*", *texts)


def _error_text() -> str:
    """Return the text of `__error`: why, and where the row stands; worked out for dead rows."""
    code, expression, row, message = (
        f"'{name}', {_WHY}.{name}" for name in ("code", "expression", "row", "message")
    )
    fields = f"{code}, {expression}, {row}, 'place', {_WHERE}, {message}"
    struct = f"CAST(named_struct({fields}) AS {ERROR_TYPE})"
    return f"CASE WHEN {_WHY} IS NOT NULL THEN {struct} END AS {ERROR}"


def latest(declared: Declaration, now: int) -> dict[str, str]:
    """Return, by column with a watermark, the text of the last time that is not too far ahead."""
    moment = datetime_of(now, zoned=True)
    values = ((m, declared.clock.latest(moment, m.expr.type)) for m in declared.watermarks)
    return {m.column: literal(v, m.expr.type) for m, v in values if v is not None}


def _limit(column: str) -> str:
    return f"__latest_{column}"


def _dead(declared: Declaration, limits: Collection[str]) -> str:
    """Return the text of what sends a row to the dead letters, without its place."""
    whens = _faults(declared)
    row = as_json(declared)
    puts = f"{OPERATION} = '{UPSERTS}' AND " if declared.is_messages else ""
    for i, name in enumerate(declared.default_columns):
        error = _error(f"__default_{i}", f"{name} DEFAULT", row, f"__default_said_{i}")
        whens.append(f"WHEN __default_{i} IS NOT NULL THEN {error}")
    computed = [c for c in declared.columns if c.generated is not None]
    for i, column in enumerate(computed):
        error = _error(f"__generated_{i}", _text(column), row, f"__said_{i}")
        whens.append(f"WHEN {puts}__generated_{i} IS NOT NULL THEN {error}")
    for column in declared.columns:
        if column.not_null:
            message = dead_letter_texts.lacking(column.name)
            error = _error(IntakeCode.NULL_VALUE, f"{column.name} NOT NULL", row, message)
            when = "" if column.name in declared.primary_key else puts
            whens.append(f"WHEN {when}{ident(column.name)} IS NULL THEN {error}")
    for mark in declared.watermarks:
        message = dead_letter_texts.null_time_message(mark.column)
        error = _error(IntakeCode.NULL_TIME, f"WATERMARK FOR {mark.column}", row, message)
        whens.append(f"WHEN {ident(mark.column)} IS NULL THEN {error}")
    for name in limits:
        error = _error(
            IntakeCode.FUTURE_TIME, MAX_AHEAD, row, dead_letter_texts.ahead(name, _limit(name))
        )
        whens.append(f"WHEN {ident(name)} > {ident(_limit(name))} THEN {error}")
    return f"CASE {' '.join(whens)} END"


def _faults(declared: Declaration) -> list[str]:
    """Return the cases of what does not parse, or is no message that can be applied."""
    error = _error(IntakeCode.CORRUPT, "parse", "__corrupt", REASON)
    corrupt = f"WHEN __corrupt IS NOT NULL THEN {error}"
    if not declared.is_messages:
        return [corrupt]
    faults = [
        f"WHEN {FAULT} = {code} THEN {_error(code, part, '__corrupt', quote(message))}"
        for code, part, message in _FAULTS
    ]
    return [*faults, corrupt, f"WHEN {OPERATION} = '{IGNORED}' THEN NULL"]


def as_json(declared: Declaration) -> str:
    """Return the text of a delivered row as a dead letter shows it."""
    physical = ", ".join(ident(f.name) for f in declared.physical)
    return f"to_json(struct({physical}), map('ignoreNullFields', 'false'))"


def _text(column: ColumnInfo) -> str:
    span = column.generated.span if column.generated is not None else None
    return span.text if span is not None and span.text else column.name


def _error(
    code: int | str, expression: str, row: str, message: str = "CAST(NULL AS STRING)"
) -> str:
    label = literal(expression, VARCHAR)
    fields = f"'code', {code}, 'expression', {label}, 'row', {row}, 'message', {message}"
    return f"named_struct({fields})"


def add_route(frame: DataFrame, late: LateFilter, columns: Schema, now: int) -> DataFrame:
    """Return the rows with `__route`: stored, dead letters or late.

    Without watermarks that can make a row late, only dead letters go aside.
    """
    names = [ident(f.name) for f in columns]
    if not late.watermarks:
        nothing = any(f.name == OPERATION for f in columns)
        ignored = f"WHEN {OPERATION} = '{IGNORED}' THEN {NOTHING}" if nothing else ""
        route = f"CASE WHEN {ERROR} IS NOT NULL THEN {DEAD} {ignored} ELSE {GOOD} END"
        watermark = f"CAST(NULL AS STRING) AS {WATERMARK}"
        return frame.selectExpr(*names, *_tail(route), watermark)
    before = {
        f"__before_{i}": literal(late.before.get(mark.column), mark.expr.type)
        for i, mark in enumerate(late.watermarks)
    }
    known = frame.selectExpr("*", constants(before))
    marks = [
        f"greatest({_running(mark, now)}, {name})"
        for mark, name in zip(late.watermarks, before, strict=True)
    ]
    wide = known.selectExpr("*", *(f"{text} AS __bound_{i}" for i, text in enumerate(marks)))
    tests = [f"{ident(m.column)} < __bound_{i}" for i, m in enumerate(late.watermarks)]
    is_late = " OR ".join(f"coalesce({t}, FALSE)" for t in tests)
    route = f"CASE WHEN {ERROR} IS NOT NULL THEN {DEAD} WHEN {is_late} THEN {LATE} ELSE {GOOD} END"
    bounds = [f"WHEN {test} THEN CAST(__bound_{i} AS STRING)" for i, test in enumerate(tests)]
    watermark = f"CASE {' '.join(bounds)} END AS {WATERMARK}"
    return wide.selectExpr(*names, *_tail(route), watermark)


def _tail(route: str) -> list[str]:
    return [f"CAST(1 AS INT) AS {WEIGHT}", ERROR, f"{route} AS {ROUTE}"]


def _running(mark: WatermarkInfo, now: int) -> str:
    """Return the watermark before each row, over the rows before it."""
    delayed = compile_bound(mark.expr, now).value
    frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    window = f"PARTITION BY __partition ORDER BY __offset {frame}"
    return f"max(CASE WHEN {ERROR} IS NULL THEN {delayed} END) OVER ({window})"
