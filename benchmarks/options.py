"""Options that several benchmarks have."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def names(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """Return the parser of a list of known names.

    >>> names(("q1", "q2", "q3"))("q1,q3")
    ('q1', 'q3')
    """

    def parse(text: str) -> tuple[str, ...]:
        chosen = tuple(text.split(","))
        unknown = set(chosen) - set(known)
        if unknown:
            raise argparse.ArgumentTypeError(f"not known: {', '.join(sorted(unknown))}")
        return chosen

    return parse
