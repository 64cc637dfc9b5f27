"""Which overload of a function a call means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from floodmark.scalar.functions.model import Param, Var
from floodmark.scalar.promotion import coerce_type, common_type, comparison_type, implicit_cost
from floodmark.scalar.types import VARCHAR, Kind, SqlType, list_of


class Signature(Protocol):
    """What overload resolution needs of a function, aggregate or window function."""

    @property
    def params(self) -> tuple[Param, ...]: ...

    def accepts(self, count: int) -> bool: ...

    def param(self, index: int) -> Param: ...


S = TypeVar("S", bound=Signature)
_UNTYPED = {Kind.VARCHAR: 1, Kind.DOUBLE: 2}
"""What an untyped literal becomes where no other argument says: a text, of numbers a DOUBLE."""


def choose(
    overloads: Sequence[S], types: Sequence[SqlType]
) -> tuple[S, tuple[SqlType, ...]] | None:
    """Return the overload that these argument types mean, with the types to coerce them to.

    The cheapest implicit casts win, then the order of the registry. None when nothing fits.
    """
    best: tuple[int, S, tuple[SqlType, ...]] | None = None
    for overload in overloads:
        if not overload.accepts(len(types)):
            continue
        fit = _fit(overload, types)
        if fit is not None and (best is None or fit[0] < best[0]):
            best = (fit[0], overload, fit[1])
    return None if best is None else best[1:]


def _fit(overload: Signature, types: Sequence[SqlType]) -> tuple[int, tuple[SqlType, ...]] | None:
    params = [overload.param(i) for i in range(len(types))]
    shared = _common_type(params, types)
    if shared is None:
        return None
    known: set[Kind] = {t.kind for t in types if t.kind is not Kind.UNKNOWN}
    cost, targets = 0, []
    for param, type_ in zip(params, types, strict=True):
        step = _fit_one(param, type_, shared, known)
        if step is None:
            return None
        cost += step[0]
        targets.append(step[1])
    return cost, tuple(targets)


def _common_type(params: Sequence[Param], types: Sequence[SqlType]) -> SqlType | None:
    shared = []
    for param, type_ in zip(params, types, strict=True):
        if param in (Var.T, Var.COMPARED):
            shared.append(type_)
        elif param is Var.LIST_T and type_.kind is Kind.LIST and type_.element is not None:
            shared.append(type_.element)
    return comparison_type(shared) if Var.COMPARED in params else common_type(shared)


def _fit_one(
    param: Param, type_: SqlType, shared: SqlType, known: set[Kind]
) -> tuple[int, SqlType] | None:
    match param:
        case Var.ANY:
            return 2, VARCHAR if type_.kind is Kind.UNKNOWN else type_
        case Var.TEXT | Var.OUTPUT:
            return 3, VARCHAR
        case Var.T | Var.COMPARED:
            return 2, shared
        case Var.LIST_T if type_.kind in (Kind.LIST, Kind.UNKNOWN):
            # An untyped text is an array beside an array only: '{a}' || x joins texts.
            return 1 if type_.kind is Kind.LIST or Kind.LIST in known else 4, list_of(shared)
        case Var.TEXTS if type_ == list_of(VARCHAR) or type_.kind is Kind.UNKNOWN:
            return 2, list_of(VARCHAR)
        case Var.LIST | Var.STRUCT | Var.MAP if type_.kind.value == param.name.lower():
            return 1, type_
        case Kind():
            cost = implicit_cost(type_, param)
            if cost is None:
                return None
            if type_.kind is Kind.UNKNOWN:
                cost = 0 if param in known else _UNTYPED.get(param, 3)
            return cost, coerce_type(type_, param)
        case _:
            return None
