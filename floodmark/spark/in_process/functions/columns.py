"""Columns and their fields, constants, structs and casts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.spark.in_process.evaluation import Family, evaluate, path_of, values_of
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.types import cast, type_of

if TYPE_CHECKING:
    from floodmark.spark.in_process.frame import Values

FAMILY = Family()


@FAMILY.computes(exp.Column)
def _column(node: exp.Column, frame: LazyFrame) -> Values:
    found = frame.find(path_of(node))
    if found is None:
        raise UnsupportedQuery(f"the column {'.'.join(path_of(node))}")
    column, fields = found
    return _fields(column.values, fields)


def _fields(values: Values, names: Sequence[str]) -> Values:
    import pyarrow as pa
    from pyarrow import compute as pc

    for name in names:
        if not pa.types.is_struct(values.type):
            raise UnsupportedQuery(f"the field {name} of {values.type}")
        found = [f.name for f in values.type if f.name.lower() == name.lower()]
        if len(found) != 1:
            raise UnsupportedQuery(f"the field {name} of {values.type}")
        values = pc.struct_field(values, found)
    return values


@FAMILY.computes(exp.Identifier)
def _identifier(node: exp.Identifier, frame: LazyFrame) -> Values:
    return _column(exp.Column(this=node), frame)


@FAMILY.computes(exp.Dot)
def _dot(node: exp.Dot, frame: LazyFrame) -> Values:
    return _fields(evaluate(node.this, frame), [node.expression.name])


@FAMILY.computes(exp.Literal)
def _literal(node: exp.Literal, _: LazyFrame) -> Values:
    import pyarrow as pa

    if node.is_string:
        return pa.scalar(node.this, pa.string())
    if not node.this.isdecimal():
        raise UnsupportedQuery(f"the number {node.this}")
    number = int(node.this)
    if number >= 2**31:
        raise UnsupportedQuery(f"the number {number}")
    return pa.scalar(number, pa.int32())


@FAMILY.computes(exp.Boolean)
def _boolean(node: exp.Boolean, _: LazyFrame) -> Values:
    import pyarrow as pa

    return pa.scalar(bool(node.this))


@FAMILY.computes(exp.Null)
def _null(_: exp.Null, __: LazyFrame) -> Values:
    import pyarrow as pa

    return pa.scalar(None)


@FAMILY.computes(exp.HexString)
def _binary_text(node: exp.HexString, _: LazyFrame) -> Values:
    import pyarrow as pa

    return pa.scalar(bytes.fromhex(node.this), pa.binary())


@FAMILY.computes(exp.Paren, exp.Alias)
def _paren(node: exp.Expression, frame: LazyFrame) -> Values:
    return evaluate(node.this, frame)


@FAMILY.computes(exp.Cast, exp.TryCast)
def _cast(node: exp.Cast, frame: LazyFrame) -> Values:
    import pyarrow as pa

    target, inner = type_of(node.args["to"]), node.this
    if isinstance(inner, exp.Literal) and not inner.is_string and pa.types.is_int64(target):
        # A plain number is an INT; `5000000000L` is parsed as the cast of one.
        return pa.scalar(int(inner.this), target)
    return cast(evaluate(inner, frame), target)


@FAMILY.computes(exp.Struct)
def _struct(node: exp.Struct, frame: LazyFrame) -> Values:
    import pyarrow as pa

    names, columns = [], []
    for part in node.expressions:
        if not isinstance(part, exp.PropertyEQ):
            raise UnsupportedQuery("a field without a name")
        names.append(part.this.name)
        columns.append(values_of(part.expression, frame))
    if len(set(names)) != len(names):
        raise UnsupportedQuery("fields of one name")
    return pa.StructArray.from_arrays(columns, names)
