"""Which type becomes which without being asked.

The rules are PostgreSQL's: whole numbers widen to NUMERIC and on to floating point, DATE to
TIMESTAMP to TIMESTAMPTZ, and an untyped literal takes the type of its neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable

from floodmark.scalar.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    REAL,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Kind,
    SqlType,
    StructField,
    leaf,
    list_of,
    numeric,
    with_leaf,
)

_NUMBERS = (Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC, Kind.REAL, Kind.DOUBLE)
_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
_SIMPLE = {
    t.kind: t for t in (SMALLINT, INT, BIGINT, REAL, DOUBLE, DATE, TIMESTAMP, TIMESTAMPTZ, VARCHAR)
}
_DIGITS = {Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 19}


def as_numeric(type_: SqlType) -> SqlType:
    """Return the exact decimal type that holds every value of a whole or decimal type.

    >>> str(as_numeric(INT))
    'numeric(10,0)'
    """
    if type_.kind is Kind.NUMERIC:
        return type_
    return numeric(_DIGITS[type_.kind], 0) if type_.kind in _DIGITS else numeric()


def bounds(type_: SqlType) -> tuple[int, int]:
    """Return (precision, scale) of a whole or decimal type."""
    exact = as_numeric(type_)
    assert exact.precision is not None and exact.scale is not None
    return exact.precision, exact.scale


def common_type(types: Iterable[SqlType]) -> SqlType | None:
    """Return the type that UNION, CASE, COALESCE and `=` bring their inputs to, or None.

    >>> str(common_type([INT, numeric(4, 2)]))
    'numeric(12,2)'
    """
    result: SqlType | None = None
    for type_ in types:
        if type_.kind is Kind.UNKNOWN:
            continue
        result = type_ if result is None else _wider(result, type_)
        if result is None:
            return None
    return result if result is not None else VARCHAR


def comparison_type(types: Iterable[SqlType]) -> SqlType | None:
    """Return the type in which values are compared, or None: REAL beside another number is DOUBLE.

    >>> str(common_type([REAL, INT])), str(comparison_type([REAL, INT]))
    ('real', 'double precision')
    """
    known = [t for t in types if t.kind is not Kind.UNKNOWN]
    type_ = common_type(known)
    if type_ is None or leaf(type_) != REAL or all(leaf(t) == REAL for t in known):
        return type_
    return with_leaf(type_, DOUBLE)


def _wider(a: SqlType, b: SqlType) -> SqlType | None:
    if a == b:
        return a
    for ladder in (_NUMBERS, _TIMES):
        if a.kind in ladder and b.kind in ladder:
            top = max(a.kind, b.kind, key=ladder.index)
            return _wider_numeric(a, b) if top is Kind.NUMERIC else _SIMPLE[top]
    match a.kind, b.kind:
        case Kind.LIST, Kind.LIST:
            assert a.element is not None and b.element is not None
            element = common_type([a.element, b.element])
            return None if element is None else list_of(element)
        case Kind.STRUCT, Kind.STRUCT if len(a.fields) == len(b.fields):
            pairs = zip(a.fields, b.fields, strict=True)
            fields = [(f.name, common_type([f.type, g.type])) for f, g in pairs]
            if any(t is None for _, t in fields):
                return None
            return SqlType(
                Kind.STRUCT, fields=tuple(StructField(n, t) for n, t in fields if t is not None)
            )
        case _:
            return None


def _wider_numeric(a: SqlType, b: SqlType) -> SqlType:
    (p1, s1), (p2, s2) = bounds(a), bounds(b)
    scale = max(s1, s2)
    return numeric(min(38, max(p1 - s1, p2 - s2) + scale), scale)


def implicit_cost(source: SqlType, target: Kind) -> int | None:
    """Return how far an implicit cast goes: 0 for the same kind, None when there is none."""
    if source.kind is target:
        return 0
    if source.kind is Kind.UNKNOWN:
        return 0
    for ladder in (_NUMBERS, _TIMES):
        if source.kind in ladder and target in ladder:
            steps = ladder.index(target) - ladder.index(source.kind)
            # DOUBLE is the preferred number, as in PostgreSQL: REAL only takes what is REAL.
            if target is Kind.REAL:
                return 9 if steps > 0 else None
            return steps if steps > 0 else None
    return None


def coerce_type(source: SqlType, target: Kind) -> SqlType:
    """Return the type of `source` once it is brought to the kind `target`."""
    if source.kind is target:
        return source
    if target is Kind.NUMERIC:
        return as_numeric(source)
    return SqlType(target)
