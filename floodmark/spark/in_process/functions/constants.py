"""Operands of functions of texts, most of which are constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.spark.in_process.evaluation import evaluate
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery

if TYPE_CHECKING:
    from floodmark.spark.in_process.frame import Values


def texts_of(node: exp.Expression, frame: LazyFrame) -> Values:
    """Return the values of an expression; `UnsupportedQuery` for what is no text."""
    import pyarrow as pa

    values = evaluate(node, frame)
    if not pa.types.is_string(values.type):
        raise UnsupportedQuery(f"a text of {values.type}")
    return values


def constant_text(node: exp.Expression, frame: LazyFrame) -> str:
    """Return a text that is the same for all rows, and not NULL."""
    import pyarrow as pa

    value = evaluate(node, frame)
    if not isinstance(value, pa.Scalar) or not pa.types.is_string(value.type) or not value.is_valid:
        raise UnsupportedQuery("a text that is no constant")
    return str(value.as_py())


def constant_number(node: exp.Expression, frame: LazyFrame) -> int:
    """Return an INT that is the same for all rows, and not NULL."""
    import pyarrow as pa

    value = evaluate(node, frame)
    if not isinstance(value, pa.Scalar) or not pa.types.is_int32(value.type) or not value.is_valid:
        raise UnsupportedQuery("a number that is no constant")
    return int(value.as_py())
