"""Plans that compute the same although what they read has other columns, too."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from floodmark.plan.nodes.base import Node
from floodmark.plan.nodes.sources import Scan


def alike(a: Node, b: Node) -> bool:
    """Tell whether two plans are equal but for columns of what they read that they do not use."""
    if type(a) is not type(b) or len(a.inputs) != len(b.inputs):
        return False
    ignored = {"columns"} if isinstance(a, Scan) else set()
    own = (f.name for f in fields(a) if f.compare and f.name not in ignored)
    pairs = ((getattr(a, name), getattr(b, name)) for name in own)
    same = all(x == y for x, y in pairs if not _is_input(x))
    return same and all(alike(x, y) for x, y in zip(a.inputs, b.inputs, strict=True))


def _is_input(value: Any) -> bool:
    return isinstance(value, Node) or (
        isinstance(value, tuple) and bool(value) and isinstance(value[0], Node)
    )
