"""Watermark filter: rows of one statement or sink against the watermarks of their target table.

All of them are compared with the watermarks from before the statement or sink. A row without a
time, or with one too far ahead, is a dead letter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from floodmark.changelog import EPOCH, ERROR, WEIGHT
from floodmark.dataflow.intake import dead_letter_texts
from floodmark.dataflow.intake.source import DEAD, GOOD, LATE, NOTHING, latest
from floodmark.errors import IntakeCode
from floodmark.plan.declaration import MAX_AHEAD, Declaration
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Schema
from floodmark.spark.columns import ROUTE, WATERMARK
from floodmark.spark.literals import literal
from floodmark.spark.rows import ERROR_TYPE, constants, epoch_expr, letter_of
from floodmark.spark.types import ident
from floodmark.tables.cutoff import Cutoff

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WRITERS = 10
"""A writer's routes are that of the row and so many times its number."""


def add_route(
    frame: DataFrame,
    columns: Schema,
    declared: Declaration,
    bounds: Mapping[str, Any],
    at: tuple[int, int],
    writer: int,
    passed: Sequence[str] = (),
) -> DataFrame:
    """Return the columns, the epoch, weight, error, route and watermark of rows that are inserted.

    A time below that of its column in `bounds` is late; `at` are the epoch's number and time. What
    takes a row away is neither late nor dead. The columns `passed` go along.
    """
    epoch, now = at
    limits = latest(declared, now)
    known = {
        f"__bound_{i}": literal(bounds.get(mark.column), mark.expr.type)
        for i, mark in enumerate(declared.watermarks)
    }
    known |= {f"__latest_{column}": text for column, text in limits.items()}
    late = [f"{ident(m.column)} < __bound_{i}" for i, m in enumerate(declared.watermarks)]
    is_late = " OR ".join(f"coalesce({test}, FALSE)" for test in late)
    tests = _tests(declared, limits)
    is_dead = " OR ".join(f"coalesce({test[0]}, FALSE)" for test in tests)
    whens = f"WHEN {WEIGHT} < 0 THEN {GOOD} WHEN {is_dead} THEN {DEAD} WHEN {is_late} THEN {LATE}"
    route = f"CASE {whens} ELSE {GOOD} END"
    below = [f"WHEN {test} THEN CAST(__bound_{i} AS STRING)" for i, test in enumerate(late)]
    wide = frame.selectExpr("*", constants(known))
    return wide.selectExpr(
        *(ident(f.name) for f in columns),
        epoch_expr(epoch),
        WEIGHT,
        f"CAST({_dead(columns, tests)} AS {ERROR_TYPE}) AS {ERROR}",
        f"{route} + {WRITERS * writer} AS {ROUTE}",
        f"CASE {' '.join(below)} END AS {WATERMARK}",
        *passed,
    )


def discard_expired(frame: DataFrame, columns: Schema, cutoff: Cutoff) -> DataFrame:
    """Return judged rows with those routed to nothing whose TTL is over as they come."""
    if cutoff.ttl.column is None:
        return frame
    good = f"{ROUTE} % {WRITERS} = {GOOD} AND {cutoff.is_over()}"
    route = f"CASE WHEN {good} THEN {ROUTE} + {NOTHING} ELSE {ROUTE} END AS {ROUTE}"
    names = (*(ident(f.name) for f in columns), EPOCH, WEIGHT, ERROR)
    return cutoff.add_cutoff(frame).selectExpr(*names, route, WATERMARK)


def keep_route(frame: DataFrame, columns: Schema, epoch: int) -> DataFrame:
    """Return rows that have been judged before in the same form."""
    return frame.selectExpr(
        *(ident(f.name) for f in columns),
        epoch_expr(epoch),
        WEIGHT,
        f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}",
        f"{GOOD} AS {ROUTE}",
        f"CAST(NULL AS STRING) AS {WATERMARK}",
    )


Test = tuple[str, IntakeCode, str, str]
"""What sends a row to the dead letters: the test, the reason, what says so, the message."""


def _tests(declared: Declaration, limits: Collection[str]) -> list[Test]:
    tests: list[Test] = []
    for column in (mark.column for mark in declared.watermarks):
        label, message = f"WATERMARK FOR {column}", dead_letter_texts.null_time_message(column)
        tests.append((f"{ident(column)} IS NULL", IntakeCode.NULL_TIME, label, message))
    for column in limits:
        latest = f"__latest_{column}"
        test = f"{ident(column)} > {ident(latest)}"
        tests.append(
            (test, IntakeCode.FUTURE_TIME, MAX_AHEAD, dead_letter_texts.ahead(column, latest))
        )
    return tests


def _dead(columns: Schema, tests: Sequence[Test]) -> str:
    """Return the text of why a row is a dead letter."""
    names = [f.name for f in columns]
    whens = [
        f"WHEN {test} THEN {letter_of(str(code.value), quote(label), names, message)}"
        for test, code, label, message in tests
    ]
    return f"CASE {' '.join(whens)} END"
