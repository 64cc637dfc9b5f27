"""Plans as DuckDB SQL: a second opinion on what a query means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, assert_never

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import (
    AggCall,
    BoolOp,
    Call,
    Case,
    Cast,
    ColumnRef,
    Expr,
    Literal,
    Now,
)
from floodmark.reference.rows import Row
from floodmark.scalar.functions import ORDERED_SETS
from floodmark.scalar.types import Field, Kind, SqlType
from floodmark.stream.operators.walks import stream_key
from tests.property.duckdb_windows import NotInDuckDB, over_window, top_n

_TYPES = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INT: "INTEGER",
    Kind.BIGINT: "BIGINT",
    Kind.VARCHAR: "VARCHAR",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.NUMERIC: "DECIMAL(38,10)",
    Kind.DOUBLE: "DOUBLE",
    Kind.INTERVAL: "INTERVAL",
}
_JOINS = {
    n.JoinKind.INNER: "JOIN",
    n.JoinKind.LEFT: "LEFT JOIN",
    n.JoinKind.RIGHT: "RIGHT JOIN",
    n.JoinKind.FULL: "FULL JOIN",
}


def render(node: n.Node, inputs: Mapping[str, Sequence[Row]]) -> str:
    """Return a query over literal rows that means the plan."""
    match node:
        case n.Scan():
            return _rows(node.schema, inputs[node.object])
        case n.Project():
            shown = ", ".join(f"{expression(e)} AS {quoted(c)}" for c, e in node.columns)
            return f"SELECT {shown} FROM ({render(node.input, inputs)})"
        case n.Filter():
            below = render(node.input, inputs)
            return f"SELECT * FROM ({below}) WHERE {expression(node.predicate)}"
        case n.UnionAll():
            sides = enumerate(render(branch, inputs) for branch in node.branches)
            return " UNION ALL ".join(
                f"SELECT *, {i}::BIGINT AS {quoted(node.ordinal)} FROM ({side})"
                for i, side in sides
            )
        case n.Join():
            return _join(node, render(node.left, inputs), render(node.right, inputs))
        case n.Aggregate() | n.CloseAggregate():
            return _aggregate(node, render(node.input, inputs))
        case n.OverWindow():
            return over_window(node, render(node.input, inputs), expression)
        case n.TopN():
            return top_n(node, render(node.input, inputs))
        case n.Tumble():
            size = f"INTERVAL {node.size[2]} MICROSECONDS"
            start = f"time_bucket({size}, {quoted(node.time)}, TIMESTAMP '1970-01-01')"
            shown = f"{start} AS {quoted(node.start)}, {start} + {size} AS {quoted(node.end)}"
            return f"SELECT *, {shown} FROM ({render(node.input, inputs)})"
        case n.Hop():
            return _hop(node, render(node.input, inputs))
        case n.Session():
            return _session(node, render(node.input, inputs))
        case n.ProjectSet():
            return _unrolled(node, render(node.input, inputs))
        case n.SetOperation():
            return _set_operation(node, *(render(side, inputs) for side in node.inputs))
        case _:
            raise AssertionError(f"no DuckDB form of {type(node).__name__}")


def _join(node: n.Join, left: str, right: str) -> str:
    columns = ", ".join(map(quoted, node.names))
    tests = [f"l.{quoted(a)} = r.{quoted(b)}" for a, b in node.equi]
    tests += [] if node.residual is None else [expression(node.residual)]
    on = " AND ".join(tests) or "TRUE"
    if node.kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
        word = "EXISTS" if node.kind is n.JoinKind.SEMI else "NOT EXISTS"
        return f"SELECT * FROM ({left}) l WHERE {word} (SELECT 1 FROM ({right}) r WHERE {on})"
    return f"SELECT {columns} FROM ({left}) l {_JOINS[node.kind]} ({right}) r ON {on}"


def _unrolled(node: n.ProjectSet, below: str) -> str:
    call, (name,) = node.call, node.outputs
    assert isinstance(call, Call)
    if call.function == "generate_series":
        # DuckDB takes no NULL, and a step of 0 for nothing.
        text = ", ".join(expression(arg) for arg in call.args)
        known = " AND ".join(f"{expression(arg)} IS NOT NULL" for arg in call.args)
        elements = f"CASE WHEN {known} THEN generate_series({text})::INTEGER[] END"
    else:
        elements = expression(call.args[0])
    listed = f"SELECT *, {elements} AS __xs FROM ({below})"
    ordinals = "unnest(generate_series(1, len(__xs)))"
    numbered = f"SELECT *, {ordinals} AS {quoted(node.ordinal)} FROM ({listed})"
    shown = f"SELECT * EXCLUDE (__xs), __xs[{quoted(node.ordinal)}] AS {quoted(name)}"
    out = f"{shown} FROM ({numbered})"
    if node.outer:
        none = f"SELECT *, 0 AS {quoted(node.ordinal)} FROM ({listed})"
        empty = f"{shown} FROM ({none}) WHERE coalesce(len(__xs), 0) = 0"
        out = f"{out} UNION ALL BY NAME {empty}"
    return out


def _hop(node: n.Hop, below: str) -> str:
    time, slide, size = quoted(node.time), node.slide[2], node.size[2]
    every, length = f"INTERVAL {slide} MICROSECONDS", f"INTERVAL {size} MICROSECONDS"
    last = f"time_bucket({every}, {time}, TIMESTAMP '1970-01-01')"
    first = f"{last} - INTERVAL {slide * (-(-size // slide) - 1)} MICROSECONDS"
    starts = f"unnest(generate_series({first}, {last}, {every}))"
    shown = f"__w AS {quoted(node.start)}, __w + {length} AS {quoted(node.end)}"
    inside = (
        f"SELECT * FROM (SELECT *, {starts} AS __w FROM ({below})) WHERE __w + {length} > {time}"
    )
    return f"SELECT * EXCLUDE (__w), {shown} FROM ({inside})"


def _session(node: n.Session, below: str) -> str:
    time, gap = quoted(node.time), f"INTERVAL {node.gap[2]} MICROSECONDS"
    by = ", ".join(map(quoted, node.partition)) or "1"
    within = f"(PARTITION BY {by} ORDER BY {time})"
    opens = f"CASE WHEN {time} - lag({time}) OVER {within} <= {gap} THEN 0 ELSE 1 END AS __o"
    opening = f"SELECT *, {opens} FROM ({below}) WHERE {time} IS NOT NULL"
    numbered = f"SELECT *, sum(__o) OVER {within} AS __n FROM ({opening})"
    each = f"OVER (PARTITION BY {by}, __n)"
    shown = f"min({time}) {each} AS {quoted(node.start)}, max({time}) {each} + {gap}"
    return f"SELECT * EXCLUDE (__o, __n), {shown} AS {quoted(node.end)} FROM ({numbered})"


def _set_operation(node: n.SetOperation, left: str, right: str) -> str:
    sides = []
    for side, text in ((node.left, left), (node.right, right)):
        names = ", ".join(quoted(c) for c in side.names if not is_hidden(c))
        sides.append(f"SELECT {names} FROM ({text})")
    word = f" {node.kind.value.upper()} {'ALL ' if node.all else ''}"
    both = word.join(sides)
    if not node.all:
        return both
    shown = ", ".join(quoted(c) for c in node.names if c != node.copy)
    number = f"row_number() OVER (PARTITION BY {shown})"
    return f"SELECT *, {number} AS {quoted(node.copy)} FROM ({both})"


def _aggregate(node: n.Aggregate | n.CloseAggregate, below: str) -> str:
    ties = stream_key(node.input)
    calls = [f"{aggregate(call, ties)} AS {quoted(name)}" for name, call in node.aggregates]
    shown = ", ".join([*map(quoted, node.group), *calls])
    group = f" GROUP BY {', '.join(map(quoted, node.group))}" if node.group else ""
    return f"SELECT {shown} FROM ({below}){group}"


def aggregate(call: AggCall, ties: Sequence[str]) -> str:
    """Return an aggregate call; where the order matters, `ties` follow what it asks for."""
    inside = ", ".join(map(expression, call.args)) or "*"
    if call.function in ("first_value", "last_value", "array_agg"):
        asked = [
            f"{expression(e)} {'DESC' if down else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
            for e, down, first in call.order_by
        ]
        order = ", ".join([*asked, *(f"{quoted(c)} ASC NULLS LAST" for c in ties)])
        by = f" ORDER BY {order}" if order else ""
        return f"{call.function.removesuffix('_value')}({inside}{by})" + _filter(call)
    if call.function in ORDERED_SETS:
        if call.function == "mode":
            raise NotInDuckDB("which of the most frequent values it takes")
        ((value, down, _),) = call.order_by
        order = f"{expression(value)} {'DESC' if down else 'ASC'}"
        fraction = expression(call.args[1])
        return f"{call.function}({fraction}) WITHIN GROUP (ORDER BY {order})" + _filter(call)
    text = f"{call.function}({'DISTINCT ' if call.distinct else ''}{inside})"
    if call.function == "avg":
        # DuckDB's avg is inexact; the sum of whole numbers is not.
        total = text.replace("avg(", "sum(", 1)
        text = f"{total}{_filter(call)} / {text.replace('avg(', 'count(', 1)}"
    return text + _filter(call)


def _filter(call: AggCall) -> str:
    return "" if call.filter is None else f" FILTER (WHERE {expression(call.filter)})"


def expression(expr: Expr) -> str:
    """Return a scalar expression."""
    match expr:
        case ColumnRef():
            return quoted(expr.name)
        case Literal():
            return f"{literal(expr.value)}::{_TYPES[expr.type.kind]}"
        case Cast():
            return f"CAST({expression(expr.operand)} AS {_TYPES[expr.type.kind]})"
        case BoolOp():
            return "(" + f" {expr.op.upper()} ".join(map(expression, expr.args)) + ")"
        case Case():
            whens = " ".join(f"WHEN {expression(c)} THEN {expression(r)}" for c, r in expr.whens)
            rest = "" if expr.otherwise is None else f" ELSE {expression(expr.otherwise)}"
            return f"(CASE {whens}{rest} END)"
        case Call():
            return _call(expr)
        case Now():
            raise AssertionError("no now here")
        case _:
            assert_never(expr)  # type: ignore[arg-type]


def _call(expr: Call) -> str:
    parts = [expression(arg) for arg in expr.args]
    match expr.function:
        case "is_null":
            return f"({parts[0]} IS NULL)"
        case "is_not_null":
            return f"({parts[0]} IS NOT NULL)"
        case "is_not_false":
            return f"({parts[0]} IS DISTINCT FROM FALSE)"
        case "/":
            return f"({parts[0]} // {parts[1]})"
        case "least" | "greatest" | "coalesce":
            return f"{expr.function}({', '.join(parts)})"
        case "array":
            return f"[{', '.join(parts)}]"
        case "not":
            return f"(NOT {parts[0]})"
        case "single_row":
            raise NotInDuckDB("a subquery with two rows")
        case _:
            assert len(parts) == 2, expr.function
            return f"({parts[0]} {expr.function} {parts[1]})"


def _rows(schema: tuple[Field, ...], rows: Sequence[Row]) -> str:
    names = ", ".join(quoted(f.name) for f in schema)
    values = [", ".join(_cell(row[f.name], f.type) for f in schema) for row in rows]
    nothing = ", ".join(_cell(None, f.type) for f in schema)
    lines = ", ".join(f"({line})" for line in [nothing, *values])
    # The first row only gives the types, where there are no others.
    return f"SELECT {names} FROM (VALUES {lines}) t({names}) OFFSET 1"


def _cell(value: Any, type_: SqlType) -> str:
    return f"{literal(value)}::{_TYPES[type_.kind]}"


def literal(value: Any) -> str:
    """Return a constant."""
    match value:
        case None:
            return "NULL"
        case bool() | int() | float():
            return f"({value})"
        case (0, 0, int(micros)):
            return f"'{micros} microseconds'"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case _:
            return "'" + str(value).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return an identifier."""
    return f'"{name}"'
