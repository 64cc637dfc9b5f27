"""How examples are drawn: the same ones in every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from floodmark.reference.pipeline import EpochInput

PROFILE = settings(
    derandomize=True, deadline=None, database=None, max_examples=300,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


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
