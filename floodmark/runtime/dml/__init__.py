"""Statements that change rows: planned as queries, their rows written before the epoch."""

from __future__ import annotations

from floodmark.runtime.dml.planned import Dml
from floodmark.runtime.dml.rows import PARTITION, check_rows, nested_nulls

__all__ = ["PARTITION", "Dml", "check_rows", "nested_nulls"]
