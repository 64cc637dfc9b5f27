"""Non-deterministic updates: found, repaired, or refused.

A row that is updated or deleted is taken back as it was given out. Where an expression gives
another value the second time, what is taken back was never there. `resolve` is the way in.
"""

from __future__ import annotations

from floodmark.stream.ndu.mode import DeterminismMode, mode_of, parse_mode, with_default
from floodmark.stream.ndu.placement import Root, colocate_state
from floodmark.stream.ndu.resolution import Resolution, resolve

__all__ = [
    "DeterminismMode", "Resolution", "Root", "colocate_state", "mode_of", "parse_mode", "resolve",
    "with_default",
]  # fmt: skip
