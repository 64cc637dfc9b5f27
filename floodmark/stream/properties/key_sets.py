"""Sets of alternative keys: minimal, in a fixed order, and not too many of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice, product

from floodmark.plan.expr.expressions import Expr
from floodmark.plan.expr.injective import injective_column

KeySet = frozenset[str]
Keys = tuple[KeySet, ...]
"""Alternative keys of one relation, none of which contains another; `()`: none is known."""

MOST = 16
"""Alternatives that are kept; further ones cost time and decide nothing."""
_TRIED = 256


def minimal(keys: Iterable[KeySet]) -> Keys:
    """Return the keys that contain no other one, the smallest first.

    >>> [sorted(k) for k in minimal([frozenset("ab"), frozenset("a"), frozenset("bc")])]
    [['a'], ['b', 'c']]
    """
    out: list[KeySet] = []
    for key in sorted(set(keys), key=lambda k: (len(k), sorted(k))):
        if not any(known <= key for known in out):
            out.append(key)
    return tuple(out[:MOST])


def normalize_keys(keys: Iterable[KeySet], most: int) -> Keys:
    """Return distinct keys in a fixed order; one may contain another (upsert keys)."""
    return tuple(sorted(set(keys), key=lambda k: (len(k), sorted(k)))[:most])


def project_keys(columns: Iterable[tuple[str, Expr]], keys: Keys) -> list[KeySet]:
    """Return the keys as a projection passes them on, with every alternative.

    A key survives where each of its columns does, as itself or through an injective cast.
    """
    kept: dict[str, list[str]] = {}
    for name, expr in columns:
        origin = injective_column(expr)
        if origin is not None:
            kept.setdefault(origin, []).append(name)
    return [mapped for key in keys for mapped in images(key, kept)]


def images(key: KeySet, names: Mapping[str, list[str]]) -> list[KeySet]:
    """Return the key with every choice of the names that its columns have above; at most 256."""
    choices = [names.get(column, []) for column in sorted(key)]
    return [frozenset(choice) for choice in islice(product(*choices), _TRIED)]


def with_equals(keys: Iterable[KeySet], pairs: Iterable[tuple[str, str]]) -> list[KeySet]:
    """Return the keys and those where a column is replaced by another of equal value."""
    equal: dict[str, list[str]] = {}
    for a, b in pairs:
        equal.setdefault(a, []).append(b)
        equal.setdefault(b, []).append(a)
    out: list[KeySet] = []
    for key in keys:
        names = {column: [column, *equal.get(column, [])] for column in key}
        out += images(key, names)
    return out
