"""The value of a scalar subquery: that of its one row, NULL where there is none."""

from __future__ import annotations

from typing import Any

from floodmark.scalar.functions.model import Function, Operands, RowError, RowErrorCode, Var
from floodmark.scalar.types import Kind, SqlType

SINGLE_ROW = "single_row"


def single_rows() -> list[Function]:
    """Return `single_row(value, rows)`: an error where a subquery gave more than one row."""
    return [
        Function(
            SINGLE_ROW,
            (Var.ANY, Kind.BIGINT),
            _first_type,
            "CASE WHEN coalesce({1}, 0) < 2 THEN {0} END",
            _single,
            strict=False,
            error=_too_many,
        )
    ]


def _first_type(operands: Operands) -> SqlType:
    return operands[0].type


def _single(value: Any, rows: int | None) -> Any:
    if rows is not None and rows > 1:
        raise RowError(RowErrorCode.SEVERAL_ROWS)
    return value


def _too_many(operands: Operands, _: str) -> str:
    return f"CASE WHEN {operands[1]} > 1 THEN {RowErrorCode.SEVERAL_ROWS.value} END"
