"""How examples are drawn, the same ones in every run; and how many programs were checked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from floodmark.plan import nodes as n
from floodmark.reference.pipeline import EpochInput

ANEW = "FLOODMARK_NEW_PROGRAMS"
"""The variable that asks for other examples: those of `pytest --hypothesis-seed=N`."""
PROFILE = settings(
    derandomize=ANEW not in os.environ, deadline=None, database=None, max_examples=300,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip

CHECKED: Counter[str] = Counter()
"""By property: on how many programs it was checked in this run; what it passes over is none."""
OPERATORS: Counter[str] = Counter()
"""By operator, a join's with its kind: in how many of those programs it is."""


def counted(check: Callable[..., None]) -> Callable[..., None]:
    """Count the programs on which a property holds; `assume` passes over a program."""
    CHECKED[check.__name__] = 0

    @wraps(check)
    def counting(**given: Any) -> None:
        check(**given)
        CHECKED[check.__name__] += 1
        plan = next(value for value in given.values() if isinstance(value, n.Node))
        OPERATORS.update({operator(node) for node in n.walk(plan)})

    return counting


def operator(node: n.Node) -> str:
    """Return the name of an operator, a join's or set operation's with its kind."""
    kind = getattr(node, "kind", None)
    return type(node).__name__ if kind is None else f"{type(node).__name__} {kind.value}"


def drawn(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """Return examples of a strategy, the same ones in every run."""
    out: list[Any] = []

    @settings(PROFILE, max_examples=count, phases=[Phase.generate])
    @given(strategy)
    def collect(example: Any) -> None:
        out.append(example)

    collect()
    return out


def joined(inputs: Sequence[EpochInput]) -> EpochInput:
    """Return several epochs as one."""
    names = {name for epoch in inputs for name in epoch.deliveries}
    deliveries = {
        name: [d for epoch in inputs for d in epoch.deliveries.get(name, ())] for name in names
    }
    return replace(inputs[-1], deliveries=deliveries)
