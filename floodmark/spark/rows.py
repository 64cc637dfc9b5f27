"""Rows on their way through an epoch: a frame with a weight, and errors that travel along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from floodmark.changelog import EPOCH, ERROR, HIDDEN_PREFIX, KIND, WEIGHT
from floodmark.plan.nodes import Node
from floodmark.scalar.functions.model import RowErrorCode
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import INT, VARCHAR, Field, struct_of
from floodmark.spark.expressions import CompiledExpr
from floodmark.spark.failures import NEGATIVE, RAISED
from floodmark.spark.types import ident, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ERROR_FIELD = Field(
    ERROR,
    struct_of(
        ("code", INT),
        ("expression", VARCHAR),
        ("row", VARCHAR),
        ("place", VARCHAR),
        ("message", VARCHAR),
    ),
)
"""What a dead letter says: why, in which expression, the row as JSON, where it came from, and a
message. Rows that are not taken in and functions of users have a message."""
ERROR_TYPE = "struct<code:int,expression:string,row:string,place:string,message:string>"
_SAID = f"{RowErrorCode.FUNCTION_RAISED.value}, {RowErrorCode.WRONG_RESULT.value}"


@dataclass(frozen=True)
class Rows:
    """A signed multiset: the columns of a node and `__weight`.

    With `failing` there is a column `__error` of `ERROR_TYPE`; rows that have it set are on their
    way to the dead letters and only their error counts. With `consolidated` there is at most one
    row of each sign per stream key, and the two differ, unless they are `narrowed`: columns were
    dropped since, by which alone they may have differed. With `has_kinds` there is also `__kind`,
    consistent per key, and `extra_columns` are of state: they travel along to the object's table.
    With `inserts` all rows are new: every weight is +1, every stream key occurs once and is not
    there yet. With `replacing` old rows have NULL in the `unknown` columns, which are volatile or
    were looked up: what the owner's table has for the key is taken back for them. Whether a row is
    refused does not depend on those columns, and no dead letter shows them.
    """

    frame: DataFrame
    failing: bool = False
    consolidated: bool = False
    narrowed: bool = field(default=False, kw_only=True)
    has_kinds: bool = False
    extra_columns: tuple[str, ...] = ()
    inserts: bool = False
    replacing: bool = False
    unknown: frozenset[str] = frozenset()

    def letter_columns(self, names: Sequence[str]) -> list[str]:
        """Return those of some columns that a dead letter shows."""
        return [name for name in names if name not in self.unknown]

    def with_frame(self, frame: DataFrame) -> Rows:
        """Return the same kind of rows in another frame."""
        return replace(self, frame=frame)

    @property
    def system_columns(self) -> list[str]:
        """Return the engine's columns that every operator hands on."""
        return [*self.marks, ERROR] if self.failing else self.marks

    @property
    def marks(self) -> list[str]:
        """Return the engine's columns without the error."""
        kind = [KIND] if self.has_kinds else []
        return [WEIGHT, *kind, *map(ident, self.extra_columns)]


def message_text(code: str, message: str | None) -> str:
    """Return the text of a dead letter's message: only errors of users' functions write one."""
    nothing = "CAST(NULL AS STRING)"
    return nothing if message is None else f"CASE WHEN ({code}) IN ({_SAID}) THEN {message} END"


def error_struct(code: str, expression: str, columns: list[str], message: str | None = None) -> str:
    """Return the Spark text of a dead letter about the current row; the expression is a label."""
    return error_of(code, quote(expression), columns, message)


def error_of(code: str, expression: str, columns: list[str], message: str | None = None) -> str:
    """Return the Spark text of a dead letter, whose expression is Spark text, too."""
    return letter_of(code, expression, columns, message_text(code, message))


def letter_of(code: str, expression: str, columns: list[str], message: str) -> str:
    """Return the Spark text of a dead letter with a message, whatever its code."""
    shown = (ident(c) for c in columns if not c.startswith(HIDDEN_PREFIX))
    row = ", ".join(shown) or "CAST(NULL AS INT) AS nothing"
    return (
        f"named_struct('code', {code}, 'expression', {expression}, "
        f"'row', to_json(struct({row}), map('ignoreNullFields', 'false')), "
        f"'place', CAST(NULL AS STRING), 'message', {message})"
    )


def error_column(
    compiled: list[tuple[str, CompiledExpr]],
    columns: list[str],
    *,
    failing: bool = False,
) -> str | None:
    """Return the Spark text of `__error` after evaluating expressions, or None if none can fail.

    The first expression of the list that fails gives the error; an error from below stays.
    """
    whens = [
        f"WHEN ({c.error}) IS NOT NULL THEN {error_struct(c.error, label, columns, c.message)}"
        for label, c in compiled
        if c.error is not None
    ]
    if not whens and not failing:
        return None
    error = f"CASE {' '.join(whens)} END"
    if failing and not whens:
        return ERROR
    # Named once: a filter above is moved below, with each of its columns in full.
    return f"coalesce({ERROR}, {error}) AS {ERROR}" if failing else f"{error} AS {ERROR}"


def never_negative(count: str, otherwise: str) -> str:
    """Return the text of `otherwise` where a count is not negative; else the query ends: E0610."""
    # The code is computed, so that no text of the plan looks as if it had been raised.
    code = f"CAST(CASE WHEN {count} < 0 THEN {NEGATIVE} END AS STRING)"
    stop = f"raise_error(concat('{RAISED}', {code}, '}}'))"
    return f"CASE WHEN {count} < 0 THEN {stop} ELSE {otherwise} END"


def epoch_expr(epoch: int, name: str = EPOCH) -> str:
    """Return the text of `__epoch`, or of an epoch's number under another name.

    A plain number would stand in the code that Spark generates. That code would then be compiled
    anew in each epoch, which takes a third of a small epoch's CPU. An exploded array is a reference
    in the code.
    """
    return f"explode(array(CAST({epoch} AS BIGINT))) AS {name}"


def constants(values: Mapping[str, str]) -> str:
    """Return the text of columns whose values, Spark texts of constants, change with each epoch.

    They are kept out of generated code as the epoch's number is (`epoch_expr`).
    """
    fields = ", ".join(f"{text} AS {ident(name)}" for name, text in values.items())
    return f"inline(array(struct({fields})))"


def negate(frame: DataFrame) -> DataFrame:
    """Return the rows with the opposite sign."""
    from pyspark.sql import functions as F

    return frame.withColumn(WEIGHT, F.expr(f"-{WEIGHT}"))


def empty(spark: SparkSession, node: Node) -> DataFrame:
    """Return no rows, with a node's columns."""
    nulls = [f"CAST(NULL AS {spark_type(f.type)}) AS {ident(f.name)}" for f in node.schema]
    return spark.range(0).selectExpr(*nulls)


def set_weight(frame: DataFrame, weight: int = 1) -> DataFrame:
    """Return the frame with one weight for all its rows."""
    from pyspark.sql import functions as F

    return frame.withColumn(WEIGHT, F.expr(f"CAST({weight} AS INT)"))
