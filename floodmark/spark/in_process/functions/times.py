"""Times and microseconds."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.spark.in_process.evaluation import Family, evaluate
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.types import cast, repeat_constant

if TYPE_CHECKING:
    from floodmark.spark.in_process.frame import Values

FAMILY = Family()


_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month",
          "quarter", "year")  # fmt: skip


_PARTS = {"%Y": "%Y", "%mstrict": "%m", "%dstrict": "%d", "%Hstrict": "%H", "%Mstrict": "%M",
          "%Sstrict": "%S"}  # fmt: skip
"""How parts of a time are written: as the parser has the patterns of Spark, and as Arrow does."""
_FIRST, _LAST = datetime(1000, 1, 1), datetime(9999, 12, 31)


@FAMILY.computes(exp.TimeToStr)
def _format(node: exp.TimeToStr, frame: LazyFrame) -> Values:
    """Return texts of times whose years have four digits."""
    import pyarrow as pa
    from pyarrow import compute as pc

    inner, pattern = node.this, node.args["format"].name
    values = evaluate(inner.this if isinstance(inner, exp.TimeStrToTime) else inner, frame)
    pieces = re.split(r"(%\w+)", pattern)
    known = all(piece in _PARTS or re.fullmatch("[-/.:, ]*", piece) for piece in pieces)
    if not known or "%Y%Y" in pattern or not pa.types.is_timestamp(values.type):
        raise UnsupportedQuery(f"the pattern {pattern} for {values.type}")
    plain = cast(values, pa.timestamp("us"))
    bounds = pc.min_max(plain).as_py()
    if bounds["min"] is not None and not _FIRST <= bounds["min"] <= bounds["max"] < _LAST:
        raise UnsupportedQuery("years of other lengths")
    unit = "second" if {"%Hstrict", "%Mstrict", "%Sstrict"} & set(pieces) else "day"
    # Seconds of what has microseconds are written with them; and to write is slow.
    floored = repeat_constant(
        pc.floor_temporal(plain, unit=unit).cast(pa.timestamp("s")), frame.rows
    )
    coded = floored.dictionary_encode()
    written = "".join(_PARTS.get(piece, piece) for piece in pieces)
    return pc.strftime(coded.dictionary, format=written).take(coded.indices)


@FAMILY.computes(exp.UnixMicros)
def _unix_micros(node: exp.UnixMicros, frame: LazyFrame) -> Values:
    import pyarrow as pa

    values = evaluate(node.this, frame)
    if values.type != pa.timestamp("us", "UTC"):
        raise UnsupportedQuery(f"microseconds of {values.type}")
    return cast(values, pa.int64()) if isinstance(values, pa.Scalar) else values.view(pa.int64())


@FAMILY.computes("timestamp_micros")
def _timestamp_micros(node: exp.Anonymous, frame: LazyFrame) -> Values:
    import pyarrow as pa

    (values,) = (evaluate(each, frame) for each in node.expressions)
    if not pa.types.is_int64(values.type):
        raise UnsupportedQuery("microseconds")
    target = pa.timestamp("us", "UTC")
    if isinstance(values, pa.Scalar):
        return pa.scalar(values.as_py(), target)
    return values.view(target)


@FAMILY.computes(exp.TimestampTrunc)
def _truncate(node: exp.TimestampTrunc, frame: LazyFrame) -> Values:
    import pyarrow as pa
    from pyarrow import compute as pc

    values, unit = evaluate(node.this, frame), node.args["unit"].name.lower()
    if not pa.types.is_timestamp(values.type) or unit not in _UNITS:
        raise UnsupportedQuery(f"{unit} of {values.type}")
    return pc.floor_temporal(cast(values, pa.timestamp("us", "UTC")), unit=unit)
