"""Arguments that are not what is aggregated: WITHIN GROUP, and aggregates that make JSONB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from floodmark.errors import BindError, NotSupported, Span
from floodmark.plan.bind.calls import bind_call, literal_array
from floodmark.plan.bind.coercion import coerce, refuse
from floodmark.plan.bind.special_forms import as_jsonb
from floodmark.plan.expr.expressions import Call, Expr, Literal
from floodmark.scalar.functions import AGGREGATES, ORDERED_SETS, WINDOWS
from floodmark.scalar.types import DOUBLE, INTERVAL, VARCHAR, Kind, list_of, struct_of

Order = tuple[tuple[Expr, bool, bool], ...]


def check_within_group(name: str, *, within: bool, plain: bool, span: Span | None) -> None:
    """Refuse WITHIN GROUP where it cannot stand, and its absence where it must.

    Args:
        name: the aggregate.
        within: whether the call has WITHIN GROUP.
        plain: whether it has neither DISTINCT nor an ORDER BY among its arguments.
        span: where the call stands.
    """
    if within and name in WINDOWS and name not in AGGREGATES:
        raise refuse(f"{name} … WITHIN GROUP is not available", span, "count the rows below")
    if within and name in AGGREGATES and name not in ORDERED_SETS:
        raise BindError(
            "E0298",
            f"{name} has no WITHIN GROUP",
            span=span,
            hint=f"write an order inside the parentheses: {name}(… ORDER BY …)",
        )
    if name in ORDERED_SETS and not (within and plain):
        argument = "" if name == "mode" else "0.5"
        raise BindError(
            "E0298",
            f"{name} takes its values from WITHIN GROUP",
            span=span,
            hint=f"{name}({argument}) WITHIN GROUP (ORDER BY x)",
        )


def arguments_of_ordered_set(
    name: str, given: Sequence[Expr], order: Order, span: Span | None
) -> list[Expr]:
    """Return the arguments of an ordered set: the values, and the fractions of a percentile."""
    if len(order) != 1:
        raise BindError(
            "E0298",
            f"{name} orders by one expression",
            span=span,
            hint="combine the values in one expression",
        )
    value = order[0][0]
    if not value.type.is_orderable:
        raise refuse(f"{name} over {value.type} is not available", span, "order by a part of it")
    if name == "percentile_cont" and not (value.type.is_numeric or value.type == INTERVAL):
        raise BindError(
            "E0270",
            f"percentile_cont is between numbers or intervals, not {value.type}",
            span=span,
            hint="percentile_disc takes one of the values",
        )
    if len(given) != (name != "mode"):
        wanted = "nothing" if name == "mode" else "one fraction, or an ARRAY of them,"
        raise BindError(
            "E0270",
            f"{name} takes {wanted} in its parentheses",
            span=span,
            hint="the values come from WITHIN GROUP (ORDER BY x)",
        )
    return [value, *(_fractions(name, e, span) for e in given)]


def _fractions(name: str, expr: Expr, span: Span | None) -> Literal:
    several = expr.type.kind is Kind.LIST
    part = coerce(literal_array(expr), list_of(DOUBLE) if several else DOUBLE)
    if not isinstance(part, Literal):
        raise NotSupported(
            "E0375",
            f"the fraction of {name} must be a literal",
            span=expr.span,
            hint="such as 0.5, or ARRAY[0.5, 0.9]",
        )
    values: tuple[Any, ...] = part.value if several and part.value is not None else (part.value,)
    if not all(value is not None and 0 <= value <= 1 for value in values):
        raise BindError(
            "E0299",
            f"the fraction of {name} is not between 0 and 1",
            span=expr.span or span,
            hint="0.5 is the median",
        )
    return part


def jsonb_arguments(name: str, given: Sequence[Expr], span: Span | None) -> list[Expr]:
    """Return the argument of `jsonb_agg`, or of `jsonb_object_agg`: key and an object of it."""
    wanted = 1 if name == "jsonb_agg" else 2
    if len(given) != wanted:
        text = "one value" if wanted == 1 else "a key and a value"
        hint = f"write {name}({'x' if wanted == 1 else 'k, x'})"
        raise BindError("E0270", f"{name} takes {text}", span=span, hint=hint)
    value = as_jsonb(given[-1], span)
    if name == "jsonb_agg":
        return [value]
    key = coerce(given[0], VARCHAR)
    entry = bind_call("jsonb_build_object", [key, value], span)
    pair = struct_of(("f1", VARCHAR), ("f2", entry.type))
    return [Call(pair, "row", (key, entry), span=span)]
