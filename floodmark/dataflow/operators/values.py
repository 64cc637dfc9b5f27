"""Values: a constant relation; it changes only when it is created."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import ERROR
from floodmark.dataflow.context import EpochContext, Input
from floodmark.dataflow.row_errors import raising
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.scalar.functions.quoting import quote
from floodmark.spark.expressions import CompiledExpr, compile as compile_expr
from floodmark.spark.rows import Rows, error_of, set_weight
from floodmark.spark.types import ident, nullable_ddl
from floodmark.spark.user_functions import arrow_type, to_arrow
from floodmark.stream.operators.values import StreamValues

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_REFUSED = "__refused"
_REFUSED_TYPE = "struct<code:int,expression:string,message:string>"
CompiledRow = list[tuple[Expr, CompiledExpr]]


def delta(op: StreamValues, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the rows as new ones; one that an expression refuses is a dead letter."""
    if not ctx.inputs.fills:
        return None
    node = op.node
    rows = _compile(node, ctx.now)
    frame = set_weight(_frame(node, ctx.inputs.spark, rows))
    names = [ident(name) for name in node.names]
    if not _can_fail(rows):
        return Rows(frame.drop(_REFUSED), consolidated=True)
    code, expression, message = (f"{_REFUSED}.{f}" for f in ("code", "expression", "message"))
    letter = error_of(code, expression, list(node.names), message)
    error = f"CASE WHEN {_REFUSED} IS NOT NULL THEN {letter} END AS {ERROR}"
    marks = Rows(frame).marks
    return Rows(frame.selectExpr(*names, *marks, error), failing=True, consolidated=True)


def batch(node: n.Values, spark: SparkSession, now: int, *, strict: bool = False) -> DataFrame:
    """Return the rows without those that an expression refuses; `strict` raises."""
    if node.is_data:
        (data,) = constant_pieces(node, len(node.rows))
        return spark.createDataFrame(data, schema=nullable_ddl(node.schema))
    rows = _compile(node, now)
    frame = _frame(node, spark, rows, strict=strict)
    return frame.where(f"{_REFUSED} IS NULL").drop(_REFUSED)


def constant_pieces(node: n.Values, size: int) -> Iterator[pa.Table]:
    """Yield rows of constants as data, so many at a time."""
    import pyarrow as pa

    for start in range(0, len(node.rows), size):
        some = node.rows[start : start + size]
        arrays = [
            pa.array(
                [to_arrow(e.value, f.type) for e in column if isinstance(e, Literal)],
                arrow_type(f.type),
            )
            for f, column in zip(node.schema, zip(*some, strict=True), strict=True)
        ]
        yield pa.table(arrays, names=list(node.names))


def _compile(node: n.Values, now: int) -> list[CompiledRow]:
    return [[(e, compile_expr(e, now)) for e in row] for row in node.rows]


def _can_fail(rows: list[CompiledRow]) -> bool:
    return any(c.error is not None for row in rows for _, c in row)


def _frame(
    node: n.Values, spark: SparkSession, rows: list[CompiledRow], *, strict: bool = False
) -> DataFrame:
    """Return the rows with why one is refused; with `strict` the query ends there instead."""
    aliases = [f"s.c{i} AS {ident(name)}" for i, name in enumerate(node.names)]
    structs = []
    for row in rows:
        texts = [raising(c) if strict else c.value for _, c in row]
        values = [f"{text} AS c{i}" for i, text in enumerate(texts)]
        why = f"CAST(NULL AS {_REFUSED_TYPE})" if strict else _error_text(row)
        structs.append(f"struct({', '.join([*values, f'{why} AS e'])})")
    frame = spark.range(1).selectExpr(f"explode(array({', '.join(structs)})) AS s")
    return frame.selectExpr(*aliases, f"s.e AS {_REFUSED}")


def _error_text(row: CompiledRow) -> str:
    """Return the text of the first error of a row, NULL where there is none."""
    whens = []
    for expr, compiled in row:
        if compiled.error is None:
            continue
        label = expr.span.text if expr.span is not None and expr.span.text else "VALUES"
        message = compiled.message or "CAST(NULL AS STRING)"
        fields = f"CAST({compiled.error} AS INT), {quote(label)}, {message}"
        struct = f"CAST(struct({fields}) AS {_REFUSED_TYPE})"
        whens.append(f"WHEN ({compiled.error}) IS NOT NULL THEN {struct}")
    if not whens:
        return f"CAST(NULL AS {_REFUSED_TYPE})"
    return f"CASE {' '.join(whens)} END"
