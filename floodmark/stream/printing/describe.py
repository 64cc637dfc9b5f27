"""One operator of a plan in words: its head, and the lines under it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import ColumnRef, Expr
from floodmark.plan.expr.printing import (
    aggregate_text,
    interval_words,
    order_text,
    shown,
    to_text,
    window_text,
)
from floodmark.stream.printing.description import Description, Place
from floodmark.stream.printing.labels import Labels, input_labels
from floodmark.stream.properties.state import StateTable, rereadable
from floodmark.stream.properties.strategy import (
    Computed,
    aggregate_strategy,
    derive,
    distinct_arguments,
)

WIDEST_HEAD = 52
"""Characters of a head; what does not fit moves to lines of its own."""


_STATELESS = "stateless: reads what the watermark has passed"


def describe(node: n.Node, place: Place) -> Description:
    """Return a node's operator, arguments and details."""
    names = input_labels(node, place.labels)
    match node:
        case n.Scan():
            return Description(place.kinds.get(node.object, "Scan"), node.object)
        case n.Values():
            return Description(
                "Values", f"{len(node.rows)} row{'' if len(node.rows) == 1 else 's'}"
            )
        case n.Project():
            return _project(node, names)
        case n.MaterializeProject():
            return _materialized(node, names, place)
        case n.Filter():
            return _fitted("Filter", to_text(node.predicate, names))
        case n.UnionAll():
            return Description("UnionAll", "")
        case n.Join() | n.LookupJoin():
            return _join(node, names, place)
        case n.Aggregate() | n.CloseAggregate():
            return _aggregate(node, names, place)
        case n.OverWindow():
            texts = ((_label(place, node, c), window_text(w, names)) for c, w in node.calls)
            calls = tuple((text if label == text else f"{label}: {text}",) for label, text in texts)
            by = [f"by {_columns(node.partition, names)}"] if node.partition else []
            order = [f"order by {order_text(node.order, names)}"] if node.order else []
            head = " ".join([*by, *order])
            return Description("OverWindow", head, (*calls, *_recomputed(node, place)))
        case n.SetOperation():
            return Description(node.kind.value.capitalize(), "all" if node.all else "distinct")
        case n.TopN():
            return Description("TopN", _top(node, names), _recomputed(node, place))
        case n.Session():
            by = [f"by {_columns(node.partition, names)}"] if node.partition else []
            head = ", ".join([shown(node.time), f"gap {interval_words(node.gap)}", *by])
            if isinstance(node, n.CloseSession):
                return Description("Session", head, _held(node, place))
            return Description("Session", head, _recomputed(node, place))
        case n.TemporalFilter():
            return _temporal(node, names, place)
        case n.SortBuffer():
            return _sort_buffer(node, names, place)
        case n.GrowingSeries():
            made = f"{shown(node.outputs[0])}: {to_text(node.call, names)}"
            return Description("GrowingSeries", made, _due(node, place))
        case _:
            return _row_local(node, names)


def _row_local(node: n.Node, names: Mapping[str, str]) -> Description:
    match node:
        case n.Tumble():
            parts = [shown(node.time), interval_words(node.size), *_offset(node.offset)]
            return Description("Tumble", ", ".join(parts))
        case n.Hop():
            parts = [shown(node.time), f"every {interval_words(node.slide)}"]
            parts += [f"for {interval_words(node.size)}", *_offset(node.offset)]
            return Description("Hop", ", ".join(parts))
        case n.ProjectSet():
            made = ", ".join(map(shown, node.outputs))
            word = "ProjectSet outer" if node.outer else "ProjectSet"
            return _fitted(word, f"{made}: {to_text(node.call, names)}")
        case _:
            raise AssertionError(node)


def _temporal(node: n.TemporalFilter, names: Mapping[str, str], place: Place) -> Description:
    head = _fitted("TemporalFilter", to_text(node.condition, names))
    lines = [(f"from: {to_text(bound, names)}",) for bound in node.lowers]
    lines += [(f"before: {to_text(bound, names)}",) for bound in node.uppers]
    return Description(head.operator, head.arguments, (*head.details, *lines, *_due(node, place)))


def _due(node: n.Node, place: Place) -> tuple[tuple[str, ...], ...]:
    """Return a line for what an operator keeps until its time comes."""
    if place.owner is None:
        return ()
    how = derive(node, _modes(node, place)).text
    return tuple((f"due: {place.state_text(t)}", t.role, how) for t in place.plan[node].state)


def _sort_buffer(node: n.SortBuffer, names: Mapping[str, str], place: Place) -> Description:
    lines = _held(node, place)
    if place.owner is not None:
        lines = lines or ((_STATELESS,),)
    if node.condition is not None:
        lines = (*lines, (f"at its release: {to_text(node.condition, names)}",))
    by = names.get(node.column, shown(node.column))
    return Description("SortBuffer", f"by {by}", lines)


def _held(node: n.Node, place: Place) -> tuple[tuple[str, ...], ...]:
    """Return a line for what an operator holds until the watermark has passed."""
    if place.owner is None:
        return ()
    state = place.plan[node].state
    return tuple((f"held: {place.state_text(t)}", "cleaned by watermark") for t in state)


def is_plain(node: n.Node, labels: Labels) -> bool:
    """Tell whether a projection only drops or reorders columns, which needs no line."""
    if not isinstance(node, n.Project):
        return False
    below = labels[node.input]
    return all(_kept(name, expr, below) for name, expr in node.columns)


def _kept(name: str, expr: Expr, below: Mapping[str, str]) -> bool:
    if not isinstance(expr, ColumnRef):
        return False
    return is_hidden(name) or below[expr.name] == shown(name)


def _column_texts(
    node: n.Project | n.MaterializeProject, names: Mapping[str, str]
) -> tuple[str, ...]:
    texts = []
    for name, expr in node.columns:
        text = to_text(expr, names)
        if is_hidden(name) and isinstance(expr, ColumnRef):
            continue
        texts.append(text if text == shown(name) else f"{shown(name)}: {text}")
    return tuple(texts)


def _materialized(
    node: n.MaterializeProject, names: Mapping[str, str], place: Place
) -> Description:
    texts = _column_texts(node, names)
    passed = [t for t in texts if ": " not in t]
    made = tuple((t,) for t in texts if ": " in t)
    stored = (f"stored: {_columns(node.stored, {})}", *_where(node, place))
    return Description("MaterializeProject", ", ".join(passed), (*made, stored))


_EVALUATED = ("stored values", "looked-up rows", "an epoch's fetched rows", "an epoch's rows")


def _where(node: n.Node, place: Place) -> tuple[str, ...]:
    """Return where an operator's stored values are."""
    known = place.plan[node]
    if place.owner is None:
        return ()
    if known.own_table:
        return ("state: own table" if place.stores else "state: target table",)
    tables = [t for t in known.state if t.role in _EVALUATED]
    return tuple(
        f"state: {place.owner}.{t.name}{', cleaned by watermark' if t.cleaned_by else ''}"
        for t in tables
    )


def _project(node: n.Project, names: Mapping[str, str]) -> Description:
    texts = _column_texts(node, names)
    operator = type(node).__name__
    head = ", ".join(texts)
    if len(head) <= WIDEST_HEAD:
        return Description(operator, head)
    passed = tuple(t for t in texts if ": " not in t)
    head = ", ".join(passed)
    if len(head) > WIDEST_HEAD:
        head = f"{len(passed)} columns"
    return Description(operator, head, tuple((t,) for t in texts if ": " in t))


def _join(node: n.Join | n.LookupJoin, names: Mapping[str, str], place: Place) -> Description:
    pairs = [f"{names[a]} = {names[b]}" for a, b in node.equi]
    where = [to_text(node.residual, names, in_and=bool(pairs))] if node.residual else []
    if not pairs and not where:
        arguments = "cross" if node.kind is n.JoinKind.INNER else f"{node.kind.value} on true"
    else:
        arguments = f"{node.kind.value} on {' AND '.join([*pairs, *where])}"
    details = _sides(node, place) if isinstance(node, n.Join) and place.owner is not None else ()
    if isinstance(node, n.LookupJoin) and (place_of := _where(node, place)):
        unstored = "not stored" if node.external is None else "asked elsewhere, by key"
        details = (("stored: what was looked up" if node.stored else unstored, *place_of),)
    fitted = _fitted(type(node).__name__, arguments)
    return Description(fitted.operator, fitted.arguments, (*fitted.details, *details))


def _sides(node: n.Join, place: Place) -> tuple[tuple[str, ...], ...]:
    tables = {t.name.rpartition("_")[2]: t for t in place.plan[node].state}
    lines = []
    for side, child in (("left", node.left), ("right", node.right)):
        table = tables.get(side)
        source = reread_text(child, place) if table is None else place.state_text(table)
        lines.append((f"{side}: {source}", *_role(table)))
    return (*lines, (derive(node, _modes(node, place)).text,))


def _recomputed(
    node: n.TopN | n.OverWindow | n.Session, place: Place
) -> tuple[tuple[str, ...], ...]:
    """Return what the changes of rows in an order are computed from, and how."""
    if place.owner is None:
        return ()
    how = (derive(node, _modes(node, place)).text,)
    table = next(iter(place.plan[node].state), None)
    if table is not None and table.role == "first rows":
        return ((f"kept: {place.state_text(table, node)}", table.role), how)
    source = reread_text(node.input, place) if table is None else place.state_text(table)
    before = (("before: own table",),) if node == place.beside else ()
    return ((f"input: {source}", *_role(table)), *before, how)


def _role(table: StateTable | None) -> tuple[str, ...]:
    if table is None:
        return ()
    return (table.role,) if table.cleaned_by is None else (table.role, "cleaned by watermark")


def reread_text(node: n.Node, place: Place) -> str:
    """Return where the rows of a re-readable subplan are read again."""
    assert rereadable(node)
    leaves = dict.fromkeys(_leaf_text(leaf, place) for leaf in _leaves(node))
    return f"re-reads {', '.join(leaves)}" if leaves else "re-reads constants"


def _leaves(node: n.Node) -> Iterator[n.Scan | n.Aggregate]:
    """Yield what a re-readable subplan is read from."""
    if isinstance(node, n.Scan | n.Aggregate):
        yield node
    else:
        for child in node.inputs:
            yield from _leaves(child)


def _leaf_text(leaf: n.Scan | n.Aggregate, place: Place) -> str:
    if isinstance(leaf, n.Scan):
        return f"{leaf.object} (persisted)"
    return f"the groups of {place.plan[leaf].identifier}"


def _aggregate(
    node: n.Aggregate | n.CloseAggregate, names: Mapping[str, str], place: Place
) -> Description:
    head = f"by {_columns(node.group, names)}" if node.group else "one group"
    tables = {t.role: t for t in place.plan[node].state} if place.owner is not None else {}
    own = tables.get("accumulators")
    lines: list[tuple[str, ...]] = []
    for column, call in node.aggregates:
        text = aggregate_text(call, names)
        label = _label(place, node, column)
        line = [text if label == text else f"{label}: {text}"]
        lines.append((*line, *_kept_in(own, node, place, column)))
    if not lines:
        lines.append(("distinct", *_kept_in(own, node, place, None)))
    if own is not None and derive(node, _modes(node, place)).computed is Computed.SCOPE:
        table = tables.get("input arrangement")
        source = reread_text(node.input, place) if table is None else place.state_text(table)
        lines.append((f"input: {source}", *_role(table)))
    values = [t for t in place.plan[node].state if t.role == "distinct values"]
    if place.owner is not None:
        lines += [
            (f"values of {to_text(one.argument, names)}: {place.state_text(table)}", table.role)
            for one, table in zip(distinct_arguments(node), values, strict=True)
        ]
    return Description("Aggregate", head, tuple(lines))


def _kept_in(
    table: StateTable | None,
    node: n.Aggregate | n.CloseAggregate,
    place: Place,
    column: str | None,
) -> tuple[str, ...]:
    if table is None:
        stateless = isinstance(node, n.CloseAggregate) and place.owner is not None
        return (_STATELESS,) if stateless else ()
    mode = _modes(node, place)[0]
    calls = dict(node.aggregates)
    closes = isinstance(node, n.CloseAggregate)
    how = "exact delta"
    if column is not None:
        how = aggregate_strategy(calls[column], mode, group=node.group, closes=closes).text
    cleaned = "" if table.cleaned_by is None else "cleaned by watermark"
    return (place.state_text(table, node), *((cleaned,) if cleaned else ()), how)


def _modes(node: n.Node, place: Place) -> tuple[ChangelogMode, ...]:
    return tuple(place.plan[child].mode for child in node.inputs)


def _label(place: Place, node: n.Node, column: str) -> str:
    return place.labels[node][column]


def _columns(columns: tuple[str, ...], names: Mapping[str, str]) -> str:
    return ", ".join(names.get(c, shown(c)) for c in columns)


def _fitted(operator: str, arguments: str) -> Description:
    if len(arguments) <= WIDEST_HEAD:
        return Description(operator, arguments)
    return Description(operator, "", ((arguments,),))


def _offset(offset: n.Interval) -> list[str]:
    return [f"offset {interval_words(offset)}"] if any(offset) else []


def _top(node: n.TopN, names: Mapping[str, str]) -> str:
    parts = [f"by {_columns(node.group, names)}"] if node.group else []
    parts += [f"order by {order_text(node.order, names)}"] if node.order else []
    parts += [f"limit {node.limit}"] if node.limit is not None else []
    parts += ["with ties"] if node.with_ties else []
    parts += [f"offset {node.offset}"] if node.offset else []
    parts += ["numbered"] if node.number is not None else []
    return " ".join(parts)
