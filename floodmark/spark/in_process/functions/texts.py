"""Texts, and what is said of rows that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.spark.in_process.evaluation import Family, evaluate
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery

if TYPE_CHECKING:
    from floodmark.spark.in_process.frame import Values

FAMILY = Family()


@FAMILY.computes(exp.Concat)
def _concat(node: exp.Concat, frame: LazyFrame) -> Values:
    import pyarrow as pa
    from pyarrow import compute as pc

    parts = [evaluate(each, frame) for each in node.expressions]
    if not all(pa.types.is_string(p.type) for p in parts):
        raise UnsupportedQuery("what is joined is no text")
    return pc.binary_join_element_wise(*parts, "", null_handling="emit_null")


@FAMILY.computes(exp.Length)
def _length(node: exp.Length, frame: LazyFrame) -> Values:
    import pyarrow as pa
    from pyarrow import compute as pc

    values = evaluate(node.this, frame)
    if not pa.types.is_string(values.type):
        raise UnsupportedQuery(f"the length of {values.type}")
    return pc.utf8_length(values)


@FAMILY.computes(exp.Left, exp.Right)
def _end(node: exp.Left | exp.Right, frame: LazyFrame) -> Values:
    import pyarrow as pa
    from pyarrow import compute as pc

    values, length = evaluate(node.this, frame), evaluate(node.expression, frame)
    constant = isinstance(length, pa.Scalar) and pa.types.is_integer(length.type)
    if not pa.types.is_string(values.type) or not constant or not (length.as_py() or 0) > 0:
        raise UnsupportedQuery("an end of a text")
    if isinstance(node, exp.Left):
        return pc.utf8_slice_codeunits(values, 0, length.as_py())
    return pc.utf8_slice_codeunits(values, -length.as_py())


@FAMILY.computes("raise_error", exp.JSONFormat)
def _refuse_rows(node: exp.Expression, frame: LazyFrame) -> Values:
    """Return no texts of no rows: what is said of rows that are refused is Spark's."""
    import pyarrow as pa

    if frame.rows:
        raise UnsupportedQuery("a row is refused")
    return pa.nulls(0, pa.string() if isinstance(node, exp.JSONFormat) else pa.null())
