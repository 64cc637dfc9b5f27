"""TRANSFORM USING: rows of a source to what is stored of them, before anything is written.

A row for which the condition is not TRUE, or whose period is empty or over, is not stored. One for
which an expression has no value is a dead letter, where the condition holds. A message with such a
row removes the stored row of its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR
from floodmark.connectors.base import DELETES, OPERATION, UPSERTS
from floodmark.dataflow.intake.ingest_metrics import IngestCounts
from floodmark.dataflow.intake.source import DEAD, PLACE
from floodmark.plan.declaration import LOWER, UPPER, RowTransform
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.types import VARCHAR
from floodmark.spark.columns import ROUTE
from floodmark.spark.expressions import CompiledExpr, compile as compile_expr
from floodmark.spark.literals import literal
from floodmark.spark.rows import ERROR_TYPE, constants, message_text
from floodmark.spark.types import ident
from floodmark.spark.user_functions import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEEPS, _NOW, _STEP = "floodmark__keeps", "floodmark__now", "floodmark__step"
_EVER = 2**63 - 1


def transform_rows(
    frame: DataFrame,
    transform: RowTransform,
    passed: Sequence[str],
    row: str,
    now: int,
    counted: IngestCounts,
) -> DataFrame:
    """Return what is stored of routed rows, and those on their way to the dead letters.

    `passed` are columns of the engine that go along; `row` is the text of a row as a dead letter
    shows it. All that come are counted.
    """
    made = _Transformation(transform, row, now)
    stays = f"{_KEEPS} OR {ERROR} IS NOT NULL"
    kept = counted.observe(made.judge(frame), f"NOT ({stays})").where(stays)
    route = f"CASE WHEN {ERROR} IS NOT NULL THEN {DEAD} ELSE {ROUTE} END AS {ROUTE}"
    return kept.selectExpr(*made.columns(), *passed, ERROR, route)


def transform_messages(
    frame: DataFrame, transform: RowTransform, passed: Sequence[str], row: str, now: int
) -> DataFrame:
    """Return what routed operations do to the stored rows, and dead letters; as `transform_rows`.

    An operation that is refused is a dead letter, and a row that goes.
    """
    made = _Transformation(transform, row, now, only=f"{OPERATION} = '{UPSERTS}'")
    judged = made.judge(frame)
    refused = f"{ERROR} IS NOT NULL AND {ROUTE} <> {DEAD}"
    steps = f"CASE WHEN {refused} THEN array('dead', 'take') ELSE array('only') END"
    steps_of_rows = judged.selectExpr("*", f"explode({steps}) AS {_STEP}")
    takes = f"{_STEP} = 'take' OR ({ERROR} IS NULL AND {OPERATION} = '{UPSERTS}' AND NOT {_KEEPS})"
    return steps_of_rows.selectExpr(
        *made.columns(),
        *passed,
        f"CASE WHEN {_STEP} <> 'take' THEN {ERROR} END AS {ERROR}",
        f"CASE WHEN {_STEP} = 'dead' THEN {DEAD} ELSE {ROUTE} END AS {ROUTE}",
        f"CASE WHEN {takes} THEN '{DELETES}' ELSE {OPERATION} END AS {OPERATION}",
    )


@dataclass(frozen=True)
class _Transformation:
    """A transformation at a time; `only` is the text of which rows it is about."""

    transform: RowTransform
    row: str
    now: int
    only: str = "TRUE"

    def judge(self, frame: DataFrame) -> DataFrame:
        """Return rows with `__error` where they are refused, and whether they are to be stored."""
        register(frame.sparkSession, self.transform.expressions)
        others = [ident(c) for c in frame.columns if c != ERROR]
        keeps = " AND ".join(
            [f"coalesce({self._condition.value}, FALSE)", *self._is_ever_visible()]
        )
        timed = frame.selectExpr("*", constants({_NOW: f"{self.now}L"}))
        return timed.selectExpr(*others, f"{self._error()} AS {ERROR}", f"({keeps}) AS {_KEEPS}")

    def columns(self) -> list[str]:
        """Return the texts of the stored columns."""
        begin, end = self._ends()
        texts = {LOWER: begin, UPPER: end}
        columns = ((ident(c), self._compile(e).value) for c, e in self.transform.columns)
        bounds = (f"coalesce({texts[f.name]}, 0L) AS {f.name}" for f in self.transform.period)
        return [*(f"{value} AS {name}" for name, value in columns), *bounds]

    @property
    def _condition(self) -> CompiledExpr:
        condition = self.transform.condition
        return CompiledExpr("TRUE") if condition is None else self._compile(condition)

    @property
    def _bounds(self) -> tuple[Expr, ...]:
        return (*self.transform.lower_bounds, *self.transform.upper_bounds)

    def _compile(self, expr: Expr) -> CompiledExpr:
        return compile_expr(expr, self.now)

    def _error(self) -> str:
        condition, asked = self.transform.condition, self._condition
        values = [(_label(e, name), self._compile(e)) for name, e in self.transform.columns]
        values += [(_label(e, "WHERE"), self._compile(e)) for e in self._bounds]
        whens = [f"WHEN {ERROR} IS NOT NULL THEN {ERROR}", f"WHEN NOT ({self.only}) THEN NULL"]
        if condition is not None:
            whens += self._dead_letters([(_label(condition, "WHERE"), asked)])
            whens.append(f"WHEN NOT coalesce({asked.value}, FALSE) THEN NULL")
        return f"CASE {' '.join([*whens, *self._dead_letters(values)])} END"

    def _dead_letters(self, labelled: Sequence[tuple[str, CompiledExpr]]) -> list[str]:
        return [
            f"WHEN ({c.error}) IS NOT NULL THEN {_letter(label, c, self.row)}"
            for label, c in labelled
            if c.error is not None
        ]

    def _is_ever_visible(self) -> list[str]:
        """Return the texts that a period has both ends, is not empty, and not over."""
        if not self.transform.period:
            return []
        begin, end = self._ends()
        # Spark passes NULLs over where it looks for the greatest.
        whole = [f"({self._micros(bound)}) IS NOT NULL" for bound in self._bounds]
        return [*whole, f"coalesce({begin} < {end}, FALSE)", f"coalesce({_NOW} < {end}, FALSE)"]

    def _ends(self) -> tuple[str, str]:
        """Return the texts of the microseconds at which the period begins and ends."""
        lowers = [self._micros(bound) for bound in self.transform.lower_bounds]
        uppers = [self._micros(bound) for bound in self.transform.upper_bounds]
        return _extreme("greatest", lowers, -_EVER), _extreme("least", uppers, _EVER)

    def _micros(self, bound: Expr) -> str:
        return f"unix_micros({self._compile(bound).value})"


def _extreme(word: str, texts: Sequence[str], otherwise: int) -> str:
    if not texts:
        return f"{otherwise}L"
    return texts[0] if len(texts) == 1 else f"{word}({', '.join(texts)})"


def _label(expr: Expr, otherwise: str) -> str:
    return expr.span.text if expr.span is not None and expr.span.text else otherwise


def _letter(label: str, compiled: CompiledExpr, row: str) -> str:
    assert compiled.error is not None
    said = message_text(compiled.error, compiled.message)
    fields = f"'code', {compiled.error}, 'expression', {literal(label, VARCHAR)}, 'row', {row}"
    return f"CAST(named_struct({fields}, 'place', {PLACE}, 'message', {said}) AS {ERROR_TYPE})"
