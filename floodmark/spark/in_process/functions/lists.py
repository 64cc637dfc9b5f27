"""Lists, and what is done with each of their items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.limits import LIMITS
from floodmark.spark.in_process.evaluation import Family, evaluate, is_true, values_of
from floodmark.spark.in_process.frame import LargeQuery, LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.types import cast, common_type, repeat_constant

if TYPE_CHECKING:
    import pyarrow as pa

    from floodmark.spark.in_process.frame import Values

FAMILY = Family()


@FAMILY.computes(exp.Array)
def _array(node: exp.Array, frame: LazyFrame) -> Values:
    import numpy as np
    import pyarrow as pa

    parts = [evaluate(each, frame) for each in node.expressions]
    if not parts:
        raise UnsupportedQuery("an empty array")
    target = common_type([p.type for p in parts])
    items = pa.concat_arrays([repeat_constant(cast(p, target), frame.rows) for p in parts])
    if len(parts) > 1:
        places = np.arange(len(parts) * frame.rows).reshape(len(parts), frame.rows).T
        items = items.take(pa.array(places.ravel()))
    offsets = np.arange(frame.rows + 1) * len(parts)
    return make_lists(offsets, items)


@FAMILY.computes(exp.ArrayFilter)
def _array_filter(node: exp.ArrayFilter, frame: LazyFrame) -> Values:
    import numpy as np

    lists, values = _values_of_items(node, frame)
    (items, parents), kept = items_of(lists), is_true(values)
    counts = np.bincount(np.asarray(parents)[np.asarray(kept)], minlength=frame.rows)
    return make_lists(_offsets(counts), items.filter(kept), lists)


@FAMILY.computes(exp.Transform)
def _transform(node: exp.Transform, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    lists, values = _values_of_items(node, frame)
    counts = pc.fill_null(pc.list_value_length(lists), 0)
    return make_lists(_offsets(counts), values, lists)


def _values_of_items(
    node: exp.ArrayFilter | exp.Transform, frame: LazyFrame
) -> tuple[pa.Array, pa.Array]:
    """Return lists, and the values that a function has for their items."""
    import pyarrow as pa

    lists, function = evaluate(node.this, frame), node.expression
    if not isinstance(function, exp.Lambda) or len(function.expressions) != 1:
        raise UnsupportedQuery("a function of a list")
    if not pa.types.is_list(lists.type):
        raise UnsupportedQuery("what has items is no list")
    lists = repeat_constant(lists, frame.rows)
    items, parents = items_of(lists)
    inner = frame.take(parents).bind(function.expressions[0].name, items)
    return lists, values_of(function.this, inner)


def items_of(lists: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the items of lists, and for each the place of its list."""
    from pyarrow import compute as pc

    items, parents = lists.flatten(), pc.list_parent_indices(lists)
    if len(items) != len(parents):
        raise UnsupportedQuery("items behind NULL")
    return items, parents


@FAMILY.computes(exp.Bracket)
def _item(node: exp.Bracket, frame: LazyFrame) -> Values:
    """Return the item of lists at a constant place, from 0; what has none there is Spark's."""
    import pyarrow as pa
    from pyarrow import compute as pc

    lists = evaluate(node.this, frame)
    (place,) = (evaluate(each, frame) for each in node.expressions)
    known = isinstance(place, pa.Scalar) and pa.types.is_integer(place.type) and place.is_valid
    if node.args.get("offset") or not known or not pa.types.is_list(lists.type):
        raise UnsupportedQuery("an item of a list")
    lists = repeat_constant(lists, frame.rows)
    if pc.all(pc.greater(pc.list_value_length(lists), place)).as_py() not in (True, None):
        raise UnsupportedQuery("a list without the item")
    return pc.list_element(lists, place)


@FAMILY.computes(exp.ArraySize)
def _size(node: exp.ArraySize, frame: LazyFrame) -> Values:
    import pyarrow as pa
    from pyarrow import compute as pc

    lists = evaluate(node.this, frame)
    if not pa.types.is_list(lists.type) or lists.null_count:
        raise UnsupportedQuery("the size of NULL")
    return pc.list_value_length(lists)


@FAMILY.computes(exp.GenerateSeries)
def _sequence(node: exp.Expression, frame: LazyFrame) -> Values:
    """Return the numbers from one BIGINT to another, upwards."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import compute as pc

    start, end = (values_of(node.args[each], frame) for each in ("start", "end"))
    if not start.type == end.type == pa.int64():
        raise UnsupportedQuery(f"a sequence from {start.type} to {end.type}")
    if node.args.get("step") is not None or start.null_count or end.null_count:
        raise UnsupportedQuery("a sequence with steps or NULL")
    counts = np.asarray(pc.subtract(end, start)) + 1
    if (counts < 1).any():
        raise UnsupportedQuery("a sequence downwards")
    if counts.sum() > LIMITS.in_process_rows:
        raise LargeQuery("long sequences")
    offsets = _offsets(counts)
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    return make_lists(offsets, pa.array(np.repeat(np.asarray(start), counts) + within))


def make_lists(offsets: Any, items: pa.Array, like: pa.Array | None = None) -> pa.Array:
    """Return lists of items, those between two offsets each; NULL where others are."""
    import pyarrow as pa

    where = like.is_null() if like is not None and like.null_count else None
    type_ = pa.list_(pa.field("element", items.type))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, type=type_, mask=where)


def _offsets(counts: Any) -> Any:
    import numpy as np

    return np.concatenate(([0], np.cumsum(np.asarray(counts))))
