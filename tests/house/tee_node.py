"""A node for the test of a new operator."""

from __future__ import annotations

from dataclasses import dataclass

from floodmark.plan.nodes.base import Unary


@dataclass(frozen=True, slots=True)
class Tee(Unary):
    """Passes its input on."""
