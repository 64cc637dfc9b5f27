"""How much one epoch and one query do at most, unless SET says otherwise."""

from __future__ import annotations

PLAN_NODES = 40_000
"""So many nodes has a query at most, where it can be split, unless a setting says otherwise."""


MAX_DUE_ROWS = 1_000_000
"""So many rows, or a file of them, come and go in one epoch: after a long stop there are several
epochs, and each takes the time that it could have had."""
