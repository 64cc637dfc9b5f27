"""Functional dependencies: which columns settle which others, in every row of a node's output.

Constants come from filters (`c = 1`), equal columns from equalities and inner joins, and a key
settles everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from floodmark.plan.expr.conjunctions import conjuncts
from floodmark.plan.expr.expressions import Call, ColumnRef, Expr, Literal

Columns = frozenset[str]
_MOST = 64


@dataclass(frozen=True, slots=True)
class Dependency:
    """Rows equal in `determinant` are equal in `dependent`; for constants it is empty."""

    determinant: Columns
    dependent: Columns


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
                if rule.determinant <= known:
                    known |= rule.dependent
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


def settles(given: str, settled: str) -> Dependency:
    """Return the rule that one column settles another."""
    return Dependency(frozenset((given,)), frozenset((settled,)))


def each_other(a: str, b: str) -> list[Dependency]:
    """Return the rules of two equal columns."""
    return [settles(a, b), settles(b, a)]


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
    about = (
        Dependency(r.determinant, (r.dependent & names) - r.determinant)
        for r in rules
        if r.determinant <= names
    )
    return Dependencies(tuple(dict.fromkeys(r for r in about if r.dependent))[:_MOST])
