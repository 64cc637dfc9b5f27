"""Equality of plans apart from additional columns of their inputs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from floodmark.plan.nodes.base import Node
from floodmark.plan.nodes.sources import Scan


def alike(a: Node, b: Node) -> bool:
    """Tell whether two plans are equal but for columns of their inputs that they do not use."""
    if type(a) is not type(b):
        return False
    ignored = {"columns"} if isinstance(a, Scan) else set()
    own = (f.name for f in fields(a) if f.compare and f.name not in ignored)
    return all(_same(getattr(a, name), getattr(b, name)) for name in own)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Node) and isinstance(b, Node):
        return alike(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)
