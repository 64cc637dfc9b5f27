"""Window functions and first rows as DuckDB SQL; the stream key breaks ties, as it does here."""

from __future__ import annotations

from collections.abc import Callable

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr
from floodmark.stream.operators.walks import stream_key

Print = Callable[[Expr], str]
_VALUES = ("first_value", "last_value", "nth_value")
_PLAIN = ("rank", "dense_rank", "percent_rank", "cume_dist")
_TOTAL = ("row_number", "ntile", "lag", "lead")


class NotInDuckDB(Exception):
    """The plan has no form whose value is settled in DuckDB."""


def over_window(node: n.OverWindow, below: str, show: Print) -> str:
    """Return the query of window functions."""
    calls = ", ".join(f"{_call(node, call, show)} AS {_quoted(c)}" for c, call in node.calls)
    return f"SELECT *, {calls} FROM ({below})"


def top_n(node: n.TopN, below: str) -> str:
    """Return the query of first rows."""
    shown = [f.name for f in node.input.schema if f.type.is_orderable and not is_hidden(f.name)]
    free = () if node.order else tuple(n.SortKey(c) for c in shown)
    keys = tuple(n.SortKey(c) for c in stream_key(node.input))
    place = f"row_number() OVER ({_by(node.group)} {_order((*node.order, *free, *keys))})"
    rank = f"rank() OVER ({_by(node.group)} {_order(node.order)})"
    last = "__rank" if node.with_ties else "__place"
    number = f", {last} AS {_quoted(node.number)}" if node.number is not None else ""
    names = ", ".join(map(_quoted, node.input.names))
    end = node.offset + (node.limit or 0)
    return (
        f"SELECT {names}{number} FROM (SELECT *, {place} AS __place, {rank} AS __rank "
        f"FROM ({below})) WHERE __place > {node.offset} AND {last} <= {end}"
    )


def _call(node: n.OverWindow, call: n.WindowCall, show: Print) -> str:
    args = [show(arg) for arg in call.args]
    if call.function in ("lag", "lead") and call.ignore_nulls:
        raise NotInDuckDB("a step over NULLs")
    nulls = " IGNORE NULLS" if call.ignore_nulls else ""
    condition = "" if call.filter is None else f" FILTER (WHERE {show(call.filter)})"
    over = _over(node, call)
    if call.function == "avg":
        # DuckDB's avg is inexact; the sum of whole numbers is not.
        return f"(sum({args[0]}){condition}{over} / count({args[0]}){condition}{over})"
    inside = ", ".join(args) or ("*" if call.function == "count" else "")
    return f"{call.function}({inside}{nulls}){condition}{over}"


def _over(node: n.OverWindow, call: n.WindowCall) -> str:
    total = (*node.order, *(n.SortKey(c) for c in stream_key(node.input)))
    if call.function in _PLAIN:
        return f" OVER ({_by(node.partition)} {_order(node.order)})"
    if call.function in _TOTAL:
        return f" OVER ({_by(node.partition)} {_order(total)})"
    unit, start, end, exclude = call.frame or (
        ("RANGE", "UNBOUNDED PRECEDING", "CURRENT ROW", "NO OTHERS")
        if node.order
        else ("ROWS", "UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING", "NO OTHERS")
    )
    if unit != "ROWS" and call.function in _VALUES:
        raise NotInDuckDB("the order of peers")
    if exclude in ("GROUP", "TIES") and unit == "ROWS":
        raise NotInDuckDB("peers of rows in a total order")
    order = _order(total if unit == "ROWS" else node.order)
    bounds = f"{unit} BETWEEN {start} AND {end} EXCLUDE {exclude}"
    return f" OVER ({_by(node.partition)} {order} {bounds})"


def _by(columns: tuple[str, ...]) -> str:
    return f"PARTITION BY {', '.join(map(_quoted, columns))}" if columns else ""


def _order(keys: tuple[n.SortKey, ...]) -> str:
    texts = (
        f"{_quoted(k.column)} {'DESC' if k.descending else 'ASC'} "
        f"NULLS {'FIRST' if k.nulls_first else 'LAST'}"
        for k in keys
    )
    return f"ORDER BY {', '.join(texts)}" if keys else ""


def _quoted(name: str) -> str:
    return f'"{name}"'
