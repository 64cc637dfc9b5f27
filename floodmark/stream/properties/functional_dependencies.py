"""Functional dependencies: which columns settle which others, in every row of a node's output.

Constants come from filters (`c = 1`), equal columns from equalities and inner joins, and a key
settles everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from floodmark.plan import nodes as n
from floodmark.plan.expr.conjunctions import conjuncts
from floodmark.plan.expr.determinism import is_deterministic
from floodmark.plan.expr.expressions import Call, ColumnRef, Expr, Literal, columns_of
from floodmark.scalar.types import Kind, SqlType

Columns = frozenset[str]
_MOST = 64


@dataclass(frozen=True, slots=True)
class Dependency:
    """Rows that agree in all of `given` agree in all of `settled`; nothing given: constants."""

    given: Columns
    settled: Columns


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What holds in one relation; `()` is what always holds."""

    rules: tuple[Dependency, ...] = ()

    def closure(self, columns: Iterable[str]) -> Columns:
        """Return the columns that are settled once these are."""
        known = set(columns)
        size = -1
        while size != len(known):
            size = len(known)
            for rule in self.rules:
                if rule.given <= known:
                    known |= rule.settled
        return frozenset(known)

    @property
    def constants(self) -> Columns:
        """Return the columns with one value in all rows."""
        return self.closure(())

    def reduce(self, key: Columns) -> Columns:
        """Return the key without the columns that its other columns settle."""
        for column in sorted(key):
            if column in self.closure(key - {column}):
                key = key - {column}
        return key

    def settle(self, keys: Iterable[Columns], names: Iterable[str]) -> Dependencies:
        """Return the dependencies with those of keys, each of which settles all columns."""
        every = frozenset(names)
        return restrict((*self.rules, *(Dependency(key, every - key) for key in keys)), every)


NOTHING = Dependencies()


def derive(node: n.Node, inputs: tuple[Dependencies, ...]) -> Dependencies:
    """Return what holds in a node's output, from what holds in its inputs.

    What the node's keys settle is added afterwards (`Dependencies.settle`).
    """
    return restrict(_rules(node, inputs), frozenset(node.names))


def _rules(node: n.Node, inputs: tuple[Dependencies, ...]) -> list[Dependency]:
    match node:
        case n.Scan() | n.Values() | n.UnionAll() | n.SetOperation():
            return []
        case n.Project() | n.MaterializeProject():
            return _project(node, inputs[0])
        case n.Filter():
            return [*inputs[0].rules, *equalities(node.predicate)]
        case n.Join() | n.LookupJoin():
            return _join(node, inputs)
        case n.Aggregate() | n.CloseAggregate():
            # Calls may have the names of columns below.
            return list(restrict(inputs[0].rules, frozenset(node.group)).rules)
        case n.Tumble():
            bounds = frozenset((node.start, node.end))
            return [*inputs[0].rules, Dependency(frozenset((node.time,)), bounds)]
        case n.Hop():
            rules = [settles(node.start, node.end)]
            if node.end_settles_start:
                rules.append(settles(node.end, node.start))
            return [*inputs[0].rules, *rules]
        case _:
            return list(inputs[0].rules)


def settles(given: str, settled: str) -> Dependency:
    """Return the rule that one column settles another."""
    return Dependency(frozenset((given,)), frozenset((settled,)))


def each_other(a: str, b: str) -> list[Dependency]:
    """Return the rules of two equal columns."""
    return [settles(a, b), settles(b, a)]


def _project(node: n.Project | n.MaterializeProject, below: Dependencies) -> list[Dependency]:
    """Rename the rules; a column that is computed from others is settled by them.

    Not from floating-point columns: 0 and -0 are equal, and what is computed from them is not.
    """
    loose = {f.name for f in node.input.schema if _is_loose(f.type)}
    names: dict[str, str] = {}
    rules: list[Dependency] = []
    for name, expr in node.columns:
        if isinstance(expr, ColumnRef) and expr.name in names:
            rules += [settles(names[expr.name], name), settles(name, names[expr.name])]
        elif isinstance(expr, ColumnRef):
            names[expr.name] = name
    for name, expr in node.columns:
        if isinstance(expr, ColumnRef) or not is_deterministic(expr):
            continue
        reads = columns_of(expr)
        given = [c for c in reads if c not in below.constants]
        if not reads & loose and all(c in names for c in given):
            rules.append(Dependency(frozenset(names[c] for c in given), frozenset((name,))))
    return rules + [r for rule in below.rules for r in _renamed(rule, names, below)]


def _is_loose(type_: SqlType) -> bool:
    """Tell whether equal values of a type may look different."""
    inner = [t for t in (type_.element, type_.key, *(f.type for f in type_.fields)) if t]
    return type_.is_float or type_.kind is Kind.INTERVAL or any(map(_is_loose, inner))


def _renamed(rule: Dependency, names: Mapping[str, str], below: Dependencies) -> list[Dependency]:
    given = rule.given - below.constants
    if not all(c in names for c in given):
        return []
    settled = below.closure(rule.given)
    kept = frozenset(names[c] for c in settled if c in names)
    return [Dependency(frozenset(names[c] for c in given), kept)]


def _join(node: n.Join | n.LookupJoin, inputs: tuple[Dependencies, ...]) -> list[Dependency]:
    """Return what each side's rules, and the join's own equalities, say of the pairs.

    Nothing is kept of what is looked up and may change: rows that were found at different times
    need not agree.
    """
    left, right = inputs
    rules = _kept(left, node.left, padded=node.kind.pads_left)
    if node.kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
        return rules
    lasting = isinstance(node, n.Join)
    if lasting or (isinstance(node, n.LookupJoin) and node.static):
        rules += _kept(right, node.right, padded=node.kind.pads_right)
    match node.kind:
        case n.JoinKind.INNER:
            for a, b in node.equi:
                rules += [settles(a, b), settles(b, a)]
            if node.residual is not None:
                rules += equalities(node.residual)
        case n.JoinKind.LEFT | n.JoinKind.RIGHT if lasting and node.residual is None and node.equi:
            # Of rows that agree in these all have a match, or none.
            ours, theirs = (frozenset(side) for side in zip(*node.equi, strict=True))
            given, settled = (ours, theirs) if node.kind is n.JoinKind.LEFT else (theirs, ours)
            rules.append(Dependency(given, settled))
    return rules


def _kept(side: Dependencies, node: n.Node, *, padded: bool) -> list[Dependency]:
    """Return a side's rules; of a padded one those that NULLs follow, too.

    They do where a given column is NULL in padded rows alone.
    """
    never = {f.name for f in node.schema if not f.nullable}
    return [rule for rule in side.rules if not padded or rule.given & never]


def equalities(predicate: Expr) -> list[Dependency]:
    """Return what the conjuncts `column = constant` and `column = column` settle."""
    out: list[Dependency] = []
    for part in conjuncts(predicate):
        match part:
            case (
                Call(function="=", args=(ColumnRef(name=a), Literal()))
                | Call(function="=", args=(Literal(), ColumnRef(name=a)))
            ):
                out.append(Dependency(frozenset(), frozenset((a,))))
            case Call(function="=", args=(ColumnRef(name=a), ColumnRef(name=b))):
                out += [settles(a, b), settles(b, a)]
    return out


def restrict(rules: Iterable[Dependency], names: Columns) -> Dependencies:
    """Return the rules about these columns, each once, and not too many."""
    about = (Dependency(r.given, (r.settled & names) - r.given) for r in rules if r.given <= names)
    return Dependencies(tuple(dict.fromkeys(r for r in about if r.settled))[:_MOST])
