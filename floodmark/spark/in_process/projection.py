"""The columns of a select list: expressions, window functions, and items of lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.spark.in_process.evaluation import path_of, values_of
from floodmark.spark.in_process.frame import LazyColumn, LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.functions.lists import items_of
from floodmark.spark.in_process.texts import WINDOW, ParsedText
from floodmark.spark.in_process.windows.calls import window_values

if TYPE_CHECKING:
    import pyarrow as pa

_SELECTED = (exp.Explode, exp.Inline)
"""These and no kinds of them: `posexplode` and `explode_outer` give other rows."""


def name_of(parsed: ParsedText) -> str:
    """Return the name of a column: a plain one has one of its own."""
    if parsed.name is not None:
        return parsed.name
    if isinstance(parsed.node, exp.Column):
        return path_of(parsed.node)[-1]
    raise UnsupportedQuery(f"a column without a name: {parsed.node.sql()}")


def select_columns(rows: LazyFrame, selected: Sequence[ParsedText]) -> LazyFrame:
    """Return the values of expressions; one list among them gives a row for each of its items."""
    apart = [each.node for each in selected if type(each.node) in _SELECTED]
    if len(apart) > 1:
        raise UnsupportedQuery("several lists")
    if not apart:
        return LazyFrame(rows.rows, _columns(selected, rows))
    items, rows = _unnest(values_of(apart[0].this, rows), rows)
    return LazyFrame(rows.rows, _columns(selected, rows, items))


def _unnest(lists: pa.Array, rows: LazyFrame) -> tuple[pa.Array, LazyFrame]:
    """Return the items of lists, and for each the row that it is of."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if not pa.types.is_list(lists.type):
        raise UnsupportedQuery("what is unnested is no list")
    items = lists.flatten()
    single = len(items) == rows.rows and not lists.null_count
    if single and pc.all(pc.equal(pc.list_value_length(lists), 1)).as_py() is not False:
        return items, rows
    items, parents = items_of(lists)
    return items, rows.take(parents)


def _columns(
    selected: Sequence[ParsedText], rows: LazyFrame, items: pa.Array | None = None
) -> list[LazyColumn]:
    columns: list[LazyColumn] = []
    for each in selected:
        if each.node.is_star:
            columns += _all_of(each.node, rows)
        elif type(each.node) is exp.Explode and each.name is not None:
            columns.append(LazyColumn(each.name, lambda: items))
        elif type(each.node) is exp.Inline and each.name is None:
            assert items is not None
            columns += _fields(items)
        else:
            columns.append(compute_column(name_of(each), each, rows))
    return columns


def _all_of(node: exp.Expression, rows: LazyFrame) -> list[LazyColumn]:
    """Return the columns that `*` means, or `t.*`; the fields of a struct are Spark's."""
    if any(each for star in node.find_all(exp.Star) for each in star.args.values()):
        raise UnsupportedQuery("all columns but some")
    if not isinstance(node, exp.Column):
        return rows.visible
    qualifiers = [part.lower() for part in path_of(node)[:-1]]
    found = [c for c in rows.visible if [(c.qualifier or "").lower()] == qualifiers]
    if not found:
        raise UnsupportedQuery(f"the columns {node.sql()}")
    return found


def _fields(items: pa.Array) -> list[LazyColumn]:
    import pyarrow as pa
    from pyarrow import compute as pc

    if not pa.types.is_struct(items.type) or items.null_count:
        raise UnsupportedQuery("items without fields")
    return [LazyColumn(f.name, pc.struct_field, items, [i]) for i, f in enumerate(items.type)]


def compute_column(name: str, parsed: ParsedText, rows: LazyFrame) -> LazyColumn:
    """Return a column of an expression, which may have window functions."""
    if not parsed.windows:
        return LazyColumn(name, values_of, parsed.node, rows)
    return LazyColumn(name, _window_column, parsed, rows)


def _window_column(parsed: ParsedText, rows: LazyFrame) -> pa.Array:
    frame = rows
    for i, window in enumerate(parsed.windows):
        frame = frame.bind(f"{WINDOW}{i}", window_values(window, rows))
    return values_of(parsed.node, frame)
