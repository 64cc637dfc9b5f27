"""Spark string literals for the registry's forms."""

from __future__ import annotations


def quote(text: str) -> str:
    """Return a Spark string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
