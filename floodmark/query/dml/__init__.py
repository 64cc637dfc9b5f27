"""Statements that change rows: planned as queries, their rows written before the epoch."""

from __future__ import annotations

from floodmark.query.dml.plan_dml import Dml
from floodmark.query.dml.rows import check_rows, count_nested_nulls
from floodmark.tables.row_ids import PARTITION

__all__ = ["PARTITION", "Dml", "check_rows", "count_nested_nulls"]
