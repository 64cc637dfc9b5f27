"""What every plan node means over plain Python rows, watermarks included: the specification.

Nothing here is incremental. What an epoch emits is the difference of two evaluations; every
operator of the engine is compared with that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from floodmark.changelog import UNION_KEY, is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import reads_now
from floodmark.plan.expr.expressions import Call, Cast, ColumnRef, Expr, Now, walk
from floodmark.reference import grouping, joins, propagation as marks, windows
from floodmark.reference.moment import CHANGED, Closing, DeadLetter, Moment, ReplayState
from floodmark.reference.monotonic import lowest
from floodmark.reference.over import over_window
from floodmark.reference.rows import Key, Row, ascending, sort_rows, sort_value, unique_columns
from floodmark.reference.watermarks import WatermarkValues
from floodmark.scalar.functions.volatile import CLOCK, RowSeed
from floodmark.scalar.types import VARCHAR

InputRows = Mapping[str, Sequence[Row]]


def evaluate(
    node: n.Node,
    inputs: InputRows,
    now: datetime,
    *,
    dead: list[DeadLetter] | None = None,
    closing: Closing | None = None,
    memory: ReplayState | None = None,
    shown: InputRows | None = None,
) -> list[Row]:
    """Return the rows of a node over the rows of the objects that it scans.

    Args:
        node: a plan whose nodes keep their stream keys.
        inputs: the current rows of every scanned object, hidden columns included.
        now: the epoch's time.
        dead: takes the rows that have no value, with operator and code.
        closing: the watermarks between which emit-on-close operators release; None: all windows.
        memory: what values that are evaluated once depend on; takes what they are now.
        shown: the rows that are found by a lookup, where they are not all of the current ones.
    """
    moment = Moment(now, closing, [] if dead is None else dead, memory or ReplayState())
    return list(_Evaluation(inputs, moment, shown or inputs).rows(node))


@dataclass(frozen=True, slots=True)
class _Evaluation:
    inputs: InputRows
    moment: Moment
    shown: InputRows
    known: dict[n.Node, Sequence[Row]] = field(default_factory=dict)

    def rows(self, node: n.Node) -> Sequence[Row]:
        # Equal subplans are one operator: its dead letters count once.
        if node not in self.known:
            self.known[node] = self._fresh(node)
        return self.known[node]

    def _input_rows(self, node: n.CloseAggregate | n.CloseSession | n.SortBuffer) -> Sequence[Row]:
        """Return the input of an operator that emits on close: all that has closed so far."""
        closing = self.moment.closing
        if closing is not None:
            moment = replace(self.moment, closing=Closing({}, closing.current))
            return _Evaluation(self.inputs, moment, self.shown).rows(node.input)
        return self.rows(node.input)

    def _fresh(self, node: n.Node) -> Sequence[Row]:
        moment = self.moment
        if isinstance(node, n.CloseAggregate | n.CloseSession | n.SortBuffer):
            children = [self._input_rows(node)]
        elif isinstance(node, n.LookupJoin) and not node.static:
            found = _Evaluation(self.shown, moment, self.shown).rows(node.right)
            children = [self.rows(node.left), found]
        else:
            children = [self.rows(child) for child in node.inputs]
        match node:
            case n.Scan():
                return [{c: row[c] for c in node.names} for row in self.inputs[node.object]]
            case n.Values():
                return values(node, moment)
            case n.Project():
                return project(node, children[0], moment)
            case n.MaterializeProject():
                return materialize(node, children[0], moment)
            case n.Filter():
                return filter_rows(node, children[0], moment)
            case n.UnionAll():
                return union_all(node, children)
            case n.Join():
                return joins.join(node, children[0], children[1], moment)
            case n.LookupJoin():
                return joins.lookup(node, children[0], children[1], key_of(node.left), moment)
            case n.SetOperation():
                return joins.set_operation(node, children[0], children[1])
            case n.Aggregate():
                return grouping.aggregate(node, children[0], key_of(node.input), moment)
            case n.CloseAggregate():
                released = is_final_between(node.input, node.window, moment)
                return grouping.aggregate(node, children[0], key_of(node.input), moment, released)
            case n.SortBuffer():
                released = is_final_between(node.input, node.column, moment)
                by = ascending((node.column, *key_of(node.input)))
                found = sort_rows(filter(released, children[0]), by)
                if node.condition is None:
                    return found
                return filter_rows(n.Filter(node.input, node.condition), found, moment)
            case _:
                return self._shape(node, children[0])

    def _shape(self, node: n.Node, rows: Sequence[Row]) -> Sequence[Row]:
        moment = self.moment
        match node:
            case n.Tumble():
                return windows.tumble(node, rows)
            case n.Hop():
                return windows.hop(node, rows)
            case n.CloseSession():
                released = is_final_between(node, node.end, moment)
                return [*filter(released, windows.session(node, rows))]
            case n.Session():
                return windows.session(node, rows)
            case n.TopN():
                return grouping.top_n(node, rows, key_of(node.input))
            case n.OverWindow():
                return over_window(node, rows, key_of(node.input), moment)
            case n.ProjectSet():
                return project_set(node, rows, moment)
            case n.TemporalFilter():
                return temporal_filter(node, rows, moment)
            case _:
                raise AssertionError(f"no meaning for {type(node).__name__}")


def key_of(node: n.Node) -> Key:
    """Return the stream key of a node's output: the columns that tell its rows apart.

    Written from the semantics. The plan must keep its key columns.
    """
    keys = [key_of(child) for child in node.inputs]
    match node:
        case n.Scan():
            return node.stream_key
        case n.Values():
            return tuple(filter(is_hidden, node.names)) or node.names
        case n.Project() | n.MaterializeProject():
            return tuple(_find_key_column(node.columns, column) for column in keys[0])
        case n.UnionAll():
            texts = tuple(c for c in node.branches[0].names if c.startswith(UNION_KEY))
            assert texts or not any(keys), "a union without the keys of its inputs"
            return (*texts, node.ordinal)
        case n.Pairing():
            return joins.pair_key(node, *keys)
        case n.SetOperation():
            return node.names
        case n.Aggregate() | n.CloseAggregate():
            return node.group
        case n.TopN():
            one = bool(node.group) and node.limit == 1 and not (node.offset or node.with_ties)
            return node.group if one else unique_columns(node.group, keys[0])
        case n.OverWindow():
            return unique_columns(keys[0], node.partition)
        case n.Hop():
            return unique_columns(keys[0], (node.start, node.end))
        case n.ProjectSet() | n.GrowingSeries():
            return unique_columns(keys[0], (node.ordinal,))
        case n.Unary():
            return keys[0]
        case _:
            raise AssertionError(f"no key of {type(node).__name__}")


def _find_key_column(columns: tuple[tuple[str, Expr], ...], key: str) -> str:
    """Return the first column that shows a column of a key; if there is none, its text."""
    for name, expr in columns:
        if isinstance(expr, ColumnRef) and expr.name == key:
            return name
    texts = [name for name, expr in columns if _is_text_of(expr, key)]
    assert texts, f"a projection without the key column {key}"
    return texts[0]


def _is_text_of(expr: Expr, column: str) -> bool:
    operand = expr.operand if isinstance(expr, Cast) and expr.type == VARCHAR else None
    return isinstance(operand, ColumnRef) and operand.name == column


def values(node: n.Values, moment: Moment) -> list[Row]:
    """Return the constant rows that have a value in every column."""
    names = [f"{i}" for i in range(len(node.columns))]
    out: list[Row] = []
    for row in node.rows:
        computed = _compute(node, tuple(zip(names, row, strict=True)), {}, moment)
        if computed is not None:
            out.append(dict(zip(node.names, computed.values(), strict=True)))
    return out


def project(node: n.Project, rows: Iterable[Row], moment: Moment) -> list[Row]:
    """Return the computed columns; a row with an error in one of them goes to the dead letters.

    A column that reads the time has that of the epoch in which the row came.
    """
    key = key_of(node.input)
    seed = moment.seed(node.input, key)
    timed = any(reads_time(expr) for _, expr in node.columns)
    seen = ((row, moment.row_moment(node, row, key)[0] if timed else moment) for row in rows)
    computed = (_compute(node, node.columns, row, then, seed) for row, then in seen)
    return [row for row in computed if row is not None]


def reads_time(expr: Expr) -> bool:
    """Tell whether the value depends on the time of the epoch that evaluates the expression."""
    return any(
        isinstance(e, Now) or (isinstance(e, Call) and e.function == CLOCK) for e in walk(expr)
    )


def materialize(node: n.MaterializeProject, rows: Iterable[Row], moment: Moment) -> list[Row]:
    """Return the computed columns; volatile ones change when the input row does, and only then."""
    key = key_of(node.input)
    seed = moment.seed(node.input, key, CHANGED)
    out: list[Row] = []
    for row in rows:
        then, epoch = moment.row_moment(node, row, key)
        computed = _compute(node, node.columns, {**row, CHANGED: epoch}, then, seed)
        if computed is not None:
            out.append(computed)
    return out


def _compute(
    node: n.Node,
    columns: tuple[tuple[str, Expr], ...],
    row: Row,
    moment: Moment,
    seed: RowSeed | None = None,
) -> Row | None:
    results = {name: moment.value(expr, row, seed) for name, expr in columns}
    codes = [error for _, error in results.values() if error is not None]
    if codes:
        moment.bury(node, min(codes), row)
        return None
    return {name: value for name, (value, _) in results.items()}


def filter_rows(node: n.Filter, rows: Iterable[Row], moment: Moment) -> list[Row]:
    """Return the rows for which the predicate is TRUE; an error puts the row aside."""
    out: list[Row] = []
    seed = moment.seed(node.input, key_of(node.input))
    for row in rows:
        value, error = moment.value(node.predicate, row, seed)
        if error is not None:
            moment.bury(node, error, row)
        elif value is True:
            out.append(row)
    return out


def union_all(node: n.UnionAll, children: Sequence[Sequence[Row]]) -> list[Row]:
    """Return all rows with the index of the input that they came from; columns meet by position."""
    names = node.branches[0].names
    out: list[Row] = []
    for index, (branch, rows) in enumerate(zip(node.branches, children, strict=True)):
        pairs = tuple(zip(names, branch.names, strict=True))
        out += [{**{a: row[b] for a, b in pairs}, node.ordinal: index} for row in rows]
    return out


def project_set(node: n.ProjectSet, rows: Iterable[Row], moment: Moment) -> list[Row]:
    """Return each row once per element of the call's value; NULL and empty give none, or one."""
    out: list[Row] = []
    seed = moment.seed(node.input, key_of(node.input))
    nothing = (None,) * len(node.outputs)
    for row in rows:
        elements, error = moment.value(node.call, row, seed)
        if error is not None:
            moment.bury(node, error, row)
            continue
        made = [_output_values(node, element) for element in elements or ()]
        numbered = list(enumerate(made, start=1)) or ([(0, nothing)] if node.outer else [])
        for ordinal, values in numbered:
            named = dict(zip(node.outputs, values, strict=True))
            out.append({**row, **named, node.ordinal: ordinal})
    return out


def _output_values(node: n.ProjectSet, element: Any) -> tuple[Any, ...]:
    if not node.unpacks:
        return (element,)
    return (None,) * len(node.outputs) if element is None else tuple(element)


def temporal_filter(node: n.TemporalFilter, rows: Iterable[Row], moment: Moment) -> list[Row]:
    """Return the rows for which the condition is TRUE now.

    What its bounds refuse is put aside, whatever the time.
    """
    out: list[Row] = []
    for row in rows:
        codes = [error for _, error in (moment.bound_value(b, row) for b in node.bounds) if error]
        if codes:
            moment.bury(node, min(codes), row)
            continue
        if moment.value(node.condition, row)[0] is True:
            out.append(row)
    return out


def is_final_between(node: n.Node, column: str, moment: Moment) -> Callable[[Row], bool]:
    """Return the test whether a row's watermark column is in `[previous watermark, watermark)`."""
    if moment.closing is None:
        return lambda row: row[column] is not None
    then = moment.closing.then or moment.now
    before = propagate(node, moment.closing.previous, then).get(column)
    after = propagate(node, moment.closing.current, moment.now).get(column)
    low, high = (None if bound is None else sort_value(bound) for bound in (before, after))

    def is_released(row: Row) -> bool:
        if row[column] is None or high is None:
            return False
        value = sort_value(row[column])
        return value < high and (low is None or low <= value)

    return is_released


def propagate(
    node: n.Node, scanned: Mapping[str, WatermarkValues], now: datetime
) -> WatermarkValues:
    """Return the watermarks of a node's output from those of the objects that it scans."""
    inputs = [propagate(child, scanned, now) for child in node.inputs]
    match node:
        case n.Scan():
            marked = {w.column for w in node.watermarks}
            return marks.select(scanned.get(node.object, {}), marked)
        case n.Values() | n.GrowingSeries():
            return {}
        case n.Filter():
            # A stored row comes or goes when the time says so.
            return {} if reads_now(node.predicate) else inputs[0]
        case n.ProjectSet():
            return inputs[0]
        case n.Pairing() if node.LOOKS_UP:
            return inputs[0]
        case n.Project() | n.MaterializeProject():
            return marks.present((c, lowest(expr, inputs[0], now)) for c, expr in node.columns)
        case n.Tumble() | n.Hop():
            return {**inputs[0], **marks.window_bounds(node, inputs[0].get(node.time))}
        case n.CloseSession():
            # A row is held until its session has ended, while the other times go on.
            return marks.present([(node.end, inputs[0].get(node.time))])
        case n.Session():
            # A row that changes a session is within it: not beyond its end.
            end = marks.present([(node.end, inputs[0].get(node.time))])
            return {**marks.select(inputs[0], node.partition), **end}
        case n.Aggregate():
            return marks.select(inputs[0], node.group)
        case n.CloseAggregate():
            return marks.select(inputs[0], marks.window_columns(node))
        case n.SortBuffer():
            return marks.select(inputs[0], [node.column])
        case n.OverWindow():
            return {**marks.select(inputs[0], node.partition), **marks.final(node, inputs[0])}
        case n.OrderedNode():
            return marks.select(inputs[0], node.scope)
        case n.TemporalFilter():
            return marks.coming(node, inputs[0], now)
        case n.UnionAll():
            columns = zip(*(branch.names for branch in node.branches), strict=True)
            return marks.present((c[0], marks.least_of(inputs, c)) for c in columns)
        case n.SetOperation():
            return marks.present((a, marks.least_of(inputs, (a, b))) for a, b in node.pairs)
        case n.Join():
            return marks.pair_values(node, {**inputs[0], **inputs[1]}, now)
        case _:
            raise AssertionError(f"no watermarks for {type(node).__name__}")
