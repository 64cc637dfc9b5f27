"""Texts, and what is said of rows that are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process.evaluation import Family, evaluate
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.functions.constants import constant_number, constant_text, texts_of
from floodmark.spark.in_process.types import repeat_constant

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


@FAMILY.computes(exp.ConcatWs)
def _join_present(node: exp.ConcatWs, frame: LazyFrame) -> Values:
    """Return texts beside each other, with a mark between those that are not NULL."""
    import pyarrow as pa
    from pyarrow import compute as pc

    mark, *parts = node.expressions
    texts = [repeat_constant(texts_of(each, frame), frame.rows) for each in parts]
    between = constant_text(mark, frame)
    # Arrow loses the rows in which all are NULL, so there is one more in front.
    first = pa.repeat(pa.scalar(""), frame.rows)
    joined = pc.binary_join_element_wise(first, *texts, between, null_handling="skip")
    return pc.utf8_slice_codeunits(joined, len(between), None)


@FAMILY.computes(exp.Length)
def _length(node: exp.Length, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    return pc.utf8_length(texts_of(node.this, frame))


@FAMILY.computes(exp.Left, exp.Right)
def _end(node: exp.Left | exp.Right, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    values, length = texts_of(node.this, frame), constant_number(node.expression, frame)
    if length <= 0:
        raise UnsupportedQuery("an end of no length")
    if isinstance(node, exp.Left):
        return pc.utf8_slice_codeunits(values, 0, length)
    return pc.utf8_slice_codeunits(values, -length)


@FAMILY.computes(exp.Substring)
def _middle(node: exp.Substring, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    start, length = node.args["start"], node.args.get("length")
    first = constant_number(start, frame) - 1
    many = None if length is None else constant_number(length, frame)
    if first < 0 or (many or 0) < 0:
        raise UnsupportedQuery("a part that begins before the text")
    stop = None if many is None else first + many
    return pc.utf8_slice_codeunits(texts_of(node.this, frame), first, stop)


@FAMILY.computes(exp.SplitPart)
def _split_part(node: exp.SplitPart, frame: LazyFrame) -> Values:
    """Return the part of a number between marks, '' where there are fewer."""
    import pyarrow as pa
    from pyarrow import compute as pc

    values = repeat_constant(texts_of(node.this, frame), frame.rows)
    mark = constant_text(node.args["delimiter"], frame)
    number = constant_number(node.args["part_index"], frame)
    if number <= 0 or not mark:
        raise UnsupportedQuery("parts from the end, or without a mark")
    parts = pc.split_pattern(values, mark, max_splits=number)
    enough = pc.greater_equal(pc.list_value_length(parts), number)
    places = pc.add(parts.offsets[:-1], pa.scalar(number - 1, pa.int32()))
    chosen = parts.values.take(pc.if_else(enough, places, pa.scalar(None, pa.int32())))
    return pc.if_else(enough, chosen, "")


@FAMILY.computes(exp.Replace)
def _replace(node: exp.Replace, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    old = constant_text(node.expression, frame)
    replacement = node.args.get("replacement")
    new = "" if replacement is None else constant_text(replacement, frame)
    if not old:
        raise UnsupportedQuery("nothing is replaced")
    return pc.replace_substring(texts_of(node.this, frame), old, new)


@FAMILY.computes(exp.Lower, exp.Upper)
def _fold(node: exp.Lower | exp.Upper, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    values = repeat_constant(texts_of(node.this, frame), frame.rows)
    if pc.all(pc.string_is_ascii(values)).as_py() is False:
        raise UnsupportedQuery("letters beyond ASCII")
    return pc.ascii_lower(values) if isinstance(node, exp.Lower) else pc.ascii_upper(values)


_TRIMS = {"BOTH": "utf8_trim", "LEADING": "utf8_ltrim", "TRAILING": "utf8_rtrim"}


@FAMILY.computes(exp.Trim)
def _trim(node: exp.Trim, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    characters = node.args.get("expression")
    removed = " " if characters is None else constant_text(characters, frame)
    if not removed:
        raise UnsupportedQuery("nothing is trimmed")
    how = getattr(pc, _TRIMS[node.args.get("position") or "BOTH"])
    return how(texts_of(node.this, frame), characters=removed)


@FAMILY.computes(exp.Reverse)
def _reverse(node: exp.Reverse, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    return pc.utf8_reverse(texts_of(node.this, frame))


def _search(how: str) -> Callable[[Any, LazyFrame], Values]:
    def compute(node: exp.Func, frame: LazyFrame) -> Values:
        from pyarrow import compute as pc

        sought = constant_text(node.expression, frame)
        return getattr(pc, how)(texts_of(node.this, frame), sought)

    return compute


FAMILY.computes(exp.StartsWith)(_search("starts_with"))
FAMILY.computes(exp.EndsWith)(_search("ends_with"))
FAMILY.computes(exp.Contains)(_search("match_substring"))


@FAMILY.computes("validate_utf8")
def _validate(node: exp.Anonymous, frame: LazyFrame) -> Values:
    """Return texts as they are: Arrow raises where one is no UTF-8."""
    (argument,) = node.expressions
    values = repeat_constant(texts_of(argument, frame), frame.rows)
    values.validate(full=True)
    return values


@FAMILY.computes("raise_error", exp.JSONFormat)
def _refuse_rows(node: exp.Expression, frame: LazyFrame) -> Values:
    """Return no texts of no rows: what is said of rows that are refused is Spark's."""
    import pyarrow as pa

    if frame.rows:
        raise UnsupportedQuery("a row is refused")
    return pa.nulls(0, pa.string() if isinstance(node, exp.JSONFormat) else pa.null())
