"""Statements that change rows: planned as queries, their rows written before the epoch."""

from __future__ import annotations

from floodmark.query.dml.planned import Dml
from floodmark.query.dml.rows import check_rows, nested_nulls
from floodmark.tables.row_ids import PARTITION

__all__ = ["PARTITION", "Dml", "check_rows", "nested_nulls"]
