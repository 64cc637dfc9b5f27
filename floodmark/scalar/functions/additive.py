"""The text over a set of an aggregate that is kept by addition: its accumulators, then its end."""

from __future__ import annotations

from floodmark.scalar.functions.arithmetic import decimal_name
from floodmark.scalar.functions.model import Accumulator, Decomposition
from floodmark.scalar.types import Kind


def print_additive(kept: Decomposition) -> str:
    """Return the text over a set: of sums of contributions, or of a list of values that count once.

    Each sum is read several times, so that what is made of them stands above a struct.
    """
    sums = [f"{_print_sum(part)} AS {part.suffix}" for part in kept.accumulators]
    slots = {part.suffix: f"s.{part.suffix}" for part in kept.accumulators}
    added = bind_once(f"struct({', '.join(sums)})", "s", kept.print_value(slots))
    listed = {part.suffix: _print_fold(part) for part in kept.accumulators}
    distinct = bind_once("collect_set({0}){filter}", "m", kept.print_value(listed))
    return f"CASE WHEN '{{distinct}}' = '' THEN {added} ELSE {distinct} END"


def bind_once(value: str, name: str, body: str) -> str:
    """Return `body`, in which `name` is the value, computed once."""
    return f"transform(array({value}), {name} -> {body})[0]"


def _print_sum(part: Accumulator) -> str:
    text = part.contribution.format("{0}", w=1)
    if part.gathered:
        return f"collect_list({text}){{filter}}"
    return f"coalesce(sum({text}){{filter}}, 0)"


def _print_fold(part: Accumulator) -> str:
    text = part.contribution.format("i", w=1)
    if part.gathered:
        return f"filter(transform(m, i -> {text}), i -> i IS NOT NULL)"
    name = decimal_name(part.type) if part.type.kind is Kind.NUMERIC else "BIGINT"
    return f"aggregate(m, CAST(0 AS {name}), (s, i) -> CAST(s + {text} AS {name}))"
