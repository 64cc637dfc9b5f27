"""WITH (split = true): a query over a source, taken apart into an intake and a view.

The intake has the maps, filters and projections of single rows directly above the reads of the
source. The rest of the plan is the view: it reads the stored rows as often as the query reads the
source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from floodmark.catalog.objects import Relation
from floodmark.changelog import is_hidden
from floodmark.errors import NotSupported, Span
from floodmark.plan import nodes as n
from floodmark.plan.build.builder import build_query
from floodmark.plan.build.relations import scan_of
from floodmark.plan.declaration import RowTransform
from floodmark.plan.declare.transform import (
    NamedExprs,
    is_intake_condition,
    is_kept,
    substitute,
    transform_of,
)
from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.conjunctions import all_of, conjunction, conjuncts
from floodmark.plan.expr.determinism import reads_now
from floodmark.plan.expr.expressions import ColumnRef, Expr, columns_of, transform
from floodmark.plan.rules import RULES
from floodmark.plan.rules.first_rows import drop_orders
from floodmark.plan.rules.nullability import split_conditions
from floodmark.scalar.functions.user import UserFunction
from floodmark.sql import statements as s


@dataclass(frozen=True)
class _Chain:
    """What stands for a read of the source: columns and conditions, over the rows that come."""

    columns: NamedExprs
    parts: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class QuerySplit:
    """A query in two: the `transform` of rows that come, and a plan over what that stores.

    `conditions` are the conditions of the first; of the rest `read` are the names of columns.
    """

    transform: RowTransform
    plan: n.Node
    source: str
    conditions: tuple[Expr, ...]
    read: frozenset[str]

    def rest(self, stored: Relation) -> n.Node:
        """Return the plan over the relation of the stored rows."""
        return self._read_stored(self.plan, stored)

    def _read_stored(self, node: n.Node, stored: Relation) -> n.Node:
        chain = _chain(node, self.source)
        if chain is None:
            return node.with_inputs([self._read_stored(child, stored) for child in node.inputs])
        rows: n.Node = scan_of(stored, node.span)
        left = all_of(
            [self._as_stored(part) for part in chain.parts if part not in self.conditions]
        )
        if left is not None:
            rows = n.Filter(rows, left, span=node.span)
        kept = (c for c in chain.columns if c[0] in self.read)
        columns = tuple((name, self._as_stored(expr)) for name, expr in kept)
        return n.Project(rows, columns, span=node.span)

    def _as_stored(self, expr: Expr) -> Expr:
        """Return an expression over the rows that come as one over those that are stored."""

        def replace_part(part: Expr) -> Expr:
            names = (name for name, made in self.transform.columns if made == part)
            name = next(names, None)
            return part if name is None else ColumnRef(part.type, name, span=part.span)

        return transform(expr, replace_part)


def split_query(
    part: s.Transform,
    raw: Relation,
    relations: Mapping[str, Relation],
    views: Mapping[str, n.Node],
    functions: Mapping[str, UserFunction],
    source: Span,
) -> QuerySplit:
    """Return a query over a source in two parts; `raw` is the source as it would be without it.

    Raises what planning the query as a view does, and E0345 where it does not read the source.
    """
    assert part.query is not None
    known = {**relations, raw.name: raw}
    node = build_query(part.query, known, source, views=views, functions=functions)
    for rule in (drop_orders, *RULES):
        node = rule(node)
    node = _separate(node, raw.name)
    chains = tuple(_chains(node, raw.name))
    if not chains:
        raise NotSupported(
            "E0345",
            "the query of TRANSFORM USING does not read the source",
            span=part.span,
            hint="write it as a materialized view",
        )
    read = frozenset(node.names) | _input_columns(node, raw.name)
    asked = _common(chains, raw)
    columns = _columns(chains, asked, read, raw)
    return QuerySplit(transform_of(columns, asked, raw), node, raw.name, asked, read)


def _chain(node: n.Node, source: str) -> _Chain | None:
    """Return a node as a map, filter and projection of the source's rows; None where it is more."""
    match node:
        case n.Scan() if node.object == source:
            return _Chain(node.identity)
        case n.Project():
            below = _chain(node.input, source)
            if below is None:
                return None
            inside = dict(below.columns)
            columns = tuple((name, substitute(expr, inside)) for name, expr in node.columns)
            return replace(below, columns=columns) if all(is_kept(e) for _, e in columns) else None
        case n.Filter():
            below = _chain(node.input, source)
            if below is None:
                return None
            parts = conjuncts(substitute(node.predicate, dict(below.columns)))
            chain = replace(below, parts=(*below.parts, *parts))
            return chain if all(map(is_intake_condition, parts)) else None
        case _:
            return None


def _chains(node: n.Node, source: str) -> Iterator[_Chain]:
    """Iterate over the largest chains of a plan, left to right."""
    chain = _chain(node, source)
    if chain is not None:
        yield chain
        return
    for child in node.inputs:
        yield from _chains(child, source)


def _separate(node: n.Node, source: str) -> n.Node:
    """Return the plan with what an intake cannot ask above what it can, where that may move."""
    node = node.with_inputs([_separate(child, source) for child in node.inputs])
    if not isinstance(node, n.Filter):
        return node
    below = _chain(node.input, source)
    if below is None or _chain(node, source) is not None:
        return node
    inside = dict(below.columns)
    parts = conjuncts(node.predicate)
    first, then = _split_conditions(
        parts, lambda p: is_intake_condition(substitute(p, inside)) and not can_fail(p), node.input
    )
    if not (first and then):
        return node
    rows = n.Filter(node.input, conjunction(first), span=node.span)
    return n.Filter(rows, conjunction(then), span=node.span)


def _common(chains: Sequence[_Chain], raw: Relation) -> tuple[Expr, ...]:
    """Return the conditions that every read of the source has.

    A condition that fails for a row puts it aside. So one that can fail counts only if some read
    has no conditions but shared ones.
    """
    first, *others = chains
    shared = [p for p in first.parts if all(p in other.parts for other in others)]
    alone = any(all(p in shared for p in chain.parts) for chain in chains)
    every = [*shared, *(p for chain in chains for p in chain.parts if p not in shared)]
    asked, _ = _split_conditions(
        every, lambda p: p in shared and (alone or not can_fail(p)), scan_of(raw, None)
    )
    return tuple(asked)


def _split_conditions(
    parts: Sequence[Expr], may: Callable[[Expr], bool], node: n.Node
) -> tuple[list[Expr], list[Expr]]:
    """Return the conditions of the intake, and those of the view; a period is not divided."""
    exact = not any(can_fail(part) for part in parts if not may(part))
    return split_conditions(parts, lambda p: may(p) and (exact or not reads_now(p)), node)


def _columns(
    chains: Sequence[_Chain], asked: Sequence[Expr], read: frozenset[str], raw: Relation
) -> NamedExprs:
    """Return the stored columns: values that every read computes, else the columns they need.

    A value that may fail is computed where some read of the source sees every row that is stored.
    """
    wanted = [[c for c in chain.columns if c[0] in read] for chain in chains]
    values = [[expr for _, expr in columns] for columns in wanted]
    sees_all = any(all(p in asked for p in chain.parts) for chain in chains)
    made: list[tuple[str, Expr]] = []
    for name, expr in wanted[0]:
        everywhere = all(expr in others for others in values)
        is_made = bool(columns_of(expr)) and not isinstance(expr, ColumnRef)
        new = is_made and all(expr != known for _, known in made)
        if new and everywhere and (sees_all or not can_fail(expr)):
            made.append((name, expr))
    computed = [expr for _, expr in made]
    parts = (part for chain in chains for part in chain.parts if part not in asked)
    exprs = (*(e for columns in values for e in columns), *parts)
    plain = frozenset[str]().union(*(_besides(computed, e) for e in exprs))
    if not made and not plain & {f.name for f in raw.visible}:
        plain |= {raw.visible[0].name}
    passed = [(f.name, ColumnRef(f.type, f.name)) for f in raw.visible if f.name in plain]
    return (*passed, *_name_columns(made, {name for name, _ in passed}))


def _besides(made: Sequence[Expr], expr: Expr) -> frozenset[str]:
    """Return the columns that an expression reads outside of values that are there."""
    if expr in made:
        return frozenset()
    if isinstance(expr, ColumnRef):
        return frozenset((expr.name,))
    return frozenset[str]().union(*(_besides(made, child) for child in expr.children))


def _name_columns(made: Sequence[tuple[str, Expr]], taken: set[str]) -> Iterator[tuple[str, Expr]]:
    """Iterate over computed columns under names that people can read, each for one of them."""
    for wanted, expr in made:
        base = wanted.strip("_") if is_hidden(wanted) else wanted
        name, number = base, 0
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        yield name, expr


def _input_columns(node: n.Node, source: str) -> frozenset[str]:
    """Return the names of columns that a plan reads above the chains, or more."""
    if _chain(node, source) is not None:
        return frozenset()
    below = (_input_columns(child, source) for child in node.inputs)
    return frozenset[str]().union(_node_columns(node), *below)


def _node_columns(node: n.Node) -> frozenset[str]:
    match node:
        case n.Project():
            return frozenset(c for _, expr in node.columns for c in columns_of(expr))
        case n.Filter():
            return columns_of(node.predicate)
        case n.Pairing():
            tested = frozenset() if node.residual is None else columns_of(node.residual)
            return tested | {c for pair in node.equi for c in pair}
        case n.Aggregate():
            calls = (e for _, call in node.aggregates for e in call.children)
            return frozenset(node.group).union(*map(columns_of, calls))
        case n.Tumble() | n.Hop():
            return frozenset((node.time,))
        case n.OverWindow():
            exprs = [e for _, c in node.calls for e in (*c.args, *filter(None, (c.filter,)))]
            keys = (*node.partition, *(k.column for k in node.order))
            return frozenset(keys).union(*map(columns_of, exprs))
        case _:
            # Rows are compared whole, or ordered by all that people see.
            return frozenset(name for child in node.inputs for name in child.names)
