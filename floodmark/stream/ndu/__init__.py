"""Non-deterministic updates: their detection, repair and refusal.

An updated or deleted row is retracted with the values with which it was emitted. If an expression
gives another value at the second evaluation, the retracted row has never existed. The entry point
is `resolve`.
"""

from __future__ import annotations

from floodmark.stream.ndu.mode import DeterminismMode, mode_of, parse_mode, with_default
from floodmark.stream.ndu.placement import Root, colocate_state
from floodmark.stream.ndu.resolution import Resolution, resolve

__all__ = [
    "DeterminismMode", "Resolution", "Root", "colocate_state", "mode_of", "parse_mode", "resolve",
    "with_default",
]  # fmt: skip
