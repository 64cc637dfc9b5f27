"""Calls that the binder writes as other expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.catalog.types import DATE, DOUBLE
from floodmark.plan.coerce import coerce
from floodmark.plan.expressions import Expr

if TYPE_CHECKING:
    from floodmark.plan.binder import Binder


def _date_part(binder: Binder, node: exp.Anonymous) -> Expr:
    return coerce(binder.call("extract", node, node.expressions), DOUBLE)


def _date(binder: Binder, node: exp.Anonymous) -> Expr:
    return coerce(binder.bind(node.expressions[0]), DATE)


def _if(binder: Binder, node: exp.Anonymous) -> Expr:
    condition, *values = node.expressions
    case = exp.Case(ifs=[exp.If(this=condition, true=values[0])], default=[*values, None][1])
    case.meta.update(node.meta)
    return binder.bind(case)


_FORMS: Mapping[str, tuple[tuple[int, ...], Callable[[Binder, exp.Anonymous], Expr]]] = (
    MappingProxyType({"date_part": ((2,), _date_part), "date": ((1,), _date), "if": ((2, 3), _if)})
)
"""The numbers of arguments, and how the call is bound."""


def bind_special(binder: Binder, name: str, node: exp.Anonymous) -> Expr | None:
    """Return a call in its other form, or None where it is no such call."""
    counts, form = _FORMS.get(name, ((), None))
    return form(binder, node) if form is not None and len(node.expressions) in counts else None
