"""Comparisons of values, where Arrow and Spark agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.spark.in_process.types import cast, common_type, nulls

if TYPE_CHECKING:
    from floodmark.spark.in_process.frame import Values


def compare(how: str, left: Values, right: Values) -> Values:
    """Compare values of simple types: `how` is the name of Arrow's function."""
    import pyarrow as pa
    from pyarrow import compute as pc

    left, right = _alike(left, right)
    if pa.types.is_nested(left.type):
        raise UnsupportedQuery(f"comparisons of {left.type}")
    if pa.types.is_null(left.type):
        return nulls(left if not isinstance(left, pa.Scalar) else right, pa.bool_())
    return getattr(pc, how)(left, right)


def equal_or_null(left: Values, right: Values) -> Values:
    """Tell whether values are equal, where NULL equals NULL; structs are by their fields."""
    import pyarrow as pa
    from pyarrow import compute as pc

    left, right = _alike(left, right)
    if pa.types.is_null(left.type):
        return pc.and_(pc.is_null(left), pc.is_null(right))
    if not pa.types.is_nested(left.type):
        equal = pc.fill_null(pc.equal(left, right), False)
    elif pa.types.is_struct(left.type) and [f.type for f in left.type] == [
        f.type for f in right.type
    ]:
        equal = pc.and_(pc.is_valid(left), pc.is_valid(right))
        for i in range(left.type.num_fields):
            equal = pc.and_(
                equal, equal_or_null(pc.struct_field(left, [i]), pc.struct_field(right, [i]))
            )
    else:
        raise UnsupportedQuery(f"comparisons of {left.type}")
    return pc.or_(equal, pc.and_(pc.is_null(left), pc.is_null(right)))


def _alike(left: Values, right: Values) -> tuple[Values, Values]:
    import pyarrow as pa

    if pa.types.is_struct(left.type) and pa.types.is_struct(right.type):
        return left, right
    target = common_type([left.type, right.type])
    left, right = cast(left, target), cast(right, target)
    check_numbers(left)
    check_numbers(right)
    return left, right


def check_numbers(values: Values) -> None:
    """Leave NaN to Spark, where it equals itself."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if not pa.types.is_floating(values.type):
        return
    if isinstance(values, pa.Scalar):
        if values.is_valid and values.as_py() != values.as_py():
            raise UnsupportedQuery("NaN")
    elif pc.any(pc.is_nan(values)).as_py():
        raise UnsupportedQuery("NaN")
