"""Floodmark: streaming-database semantics on a lakehouse, with SQL, Spark, Delta and Dagster."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from floodmark.errors import FloodmarkError

if TYPE_CHECKING:
    from floodmark.api import Floodmark, Result, connect

__all__ = ["Floodmark", "FloodmarkError", "Result", "connect"]


def __getattr__(name: str) -> Any:
    """Load the API at first use, so that `import floodmark` alone costs nothing."""
    if name in ("Floodmark", "Result", "connect"):
        return getattr(import_module("floodmark.api"), name)
    raise AttributeError(name)
