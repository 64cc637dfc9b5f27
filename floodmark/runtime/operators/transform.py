"""TRANSFORM USING: rows of a source to what is stored of them, before anything is written.

A row for which the condition is not TRUE, or whose period is empty or over, is not stored. One for
which an expression has no value is a dead letter, where the condition holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.catalog.types import VARCHAR, Schema
from floodmark.changelog import ERROR
from floodmark.plan.expressions import Expr
from floodmark.plan.transform import LOWER, UPPER, Transform
from floodmark.runtime.operators.rows import ERROR_TYPE, constants, message_text
from floodmark.spark.expressions import Compiled
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.literals import literal
from floodmark.spark.types import quoted
from floodmark.spark.user_functions import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEEPS, _NOW = "floodmark__keeps", "floodmark__now"
_EVER = 2**63 - 1


def transformed(
    frame: DataFrame, transform: Transform, passed: Sequence[str], row: str, place: str, now: int
) -> DataFrame:
    """Return what is stored of rows with `__error`, and those on their way to the dead letters.

    `passed` are columns of the engine that go along; `row` and `place` are the texts of the row as
    a dead letter shows it, and of where it stands.
    """
    register(frame.sparkSession, expressions(transform))
    kept = _kept(frame, transform, row, place, now)
    begin, end = _ends(transform, now)
    columns = [f"{compile_expr(e, now).value} AS {quoted(name)}" for name, e in transform.columns]
    texts = {LOWER: begin, UPPER: end}
    columns += [f"coalesce({texts[f.name]}, 0L) AS {f.name}" for f in transform.period]
    return kept.selectExpr(*columns, *passed, ERROR)


def expressions(transform: Transform) -> list[Expr]:
    """Return all expressions of a transformation."""
    condition = [] if transform.condition is None else [transform.condition]
    return [*condition, *(e for _, e in transform.columns), *transform.lowers, *transform.uppers]


def stored_fields(transform: Transform) -> Schema:
    """Return the columns that rows have afterwards, without those of the engine."""
    return (*transform.fields, *transform.period)


def _kept(frame: DataFrame, transform: Transform, row: str, place: str, now: int) -> DataFrame:
    """Return the rows that are stored or are dead, with why they are."""
    condition = transform.condition
    asked = Compiled("TRUE") if condition is None else compile_expr(condition, now)
    label = "WHERE" if condition is None else _label(condition, "WHERE")
    labelled = [(_label(e, name), compile_expr(e, now)) for name, e in transform.columns]
    bounds = (*transform.lowers, *transform.uppers)
    labelled += [(_label(e, "WHERE"), compile_expr(e, now)) for e in bounds]
    whens = [f"WHEN {ERROR} IS NOT NULL THEN {ERROR}"]
    if asked.error is not None:
        whens.append(f"WHEN ({asked.error}) IS NOT NULL THEN {_letter(label, asked, row, place)}")
    if condition is not None:
        whens.append(f"WHEN NOT coalesce({asked.value}, FALSE) THEN NULL")
    whens += [
        f"WHEN ({c.error}) IS NOT NULL THEN {_letter(text, c, row, place)}"
        for text, c in labelled
        if c.error is not None
    ]
    keeps = [f"coalesce({asked.value}, FALSE)", *_seen_some_day(transform, now)]
    others = [quoted(c) for c in frame.columns if c != ERROR]
    error = f"CASE {' '.join(whens)} END AS {ERROR}"
    told = frame.selectExpr("*", constants({_NOW: f"{now}L"}))
    told = told.selectExpr(*others, error, f"({' AND '.join(keeps)}) AS {_KEEPS}")
    return told.where(f"{_KEEPS} OR {ERROR} IS NOT NULL")


def _seen_some_day(transform: Transform, now: int) -> list[str]:
    """Return the texts that a period has both ends, is not empty, and not over."""
    if not transform.period:
        return []
    begin, end = _ends(transform, now)
    bounds = [_micros(e, now) for e in (*transform.lowers, *transform.uppers)]
    # Spark passes NULLs over where it looks for the greatest.
    whole = [f"({text}) IS NOT NULL" for text in bounds]
    return [*whole, f"coalesce({begin} < {end}, FALSE)", f"coalesce({_NOW} < {end}, FALSE)"]


def _ends(transform: Transform, now: int) -> tuple[str, str]:
    """Return the texts of the microseconds at which the period begins and ends."""
    lowers, uppers = (
        [_micros(e, now) for e in side] for side in (transform.lowers, transform.uppers)
    )
    return _extreme("greatest", lowers, -_EVER), _extreme("least", uppers, _EVER)


def _micros(bound: Expr, now: int) -> str:
    return f"unix_micros({compile_expr(bound, now).value})"


def _extreme(word: str, texts: Sequence[str], otherwise: int) -> str:
    if not texts:
        return f"{otherwise}L"
    return texts[0] if len(texts) == 1 else f"{word}({', '.join(texts)})"


def _label(expr: Expr, otherwise: str) -> str:
    return expr.span.text if expr.span is not None and expr.span.text else otherwise


def _letter(label: str, compiled: Compiled, row: str, place: str) -> str:
    assert compiled.error is not None
    said = message_text(compiled.error, compiled.message)
    fields = f"'code', {compiled.error}, 'expression', {literal(label, VARCHAR)}, 'row', {row}"
    return f"CAST(named_struct({fields}, 'place', {place}, 'message', {said}) AS {ERROR_TYPE})"
