"""Functions that exist only with OVER."""

from __future__ import annotations

from floodmark.scalar.functions.model import Operands, Var, WindowFunction
from floodmark.scalar.types import BIGINT, DOUBLE, INT, Kind, SqlType


def _first_type(o: Operands) -> SqlType:
    return o[0].type


def window_functions() -> list[WindowFunction]:
    """Return ranking and value functions; aggregates take OVER without an entry here."""
    any_, offset = Var.ANY, frozenset({1})
    ranks = [(n, BIGINT) for n in ("row_number", "rank", "dense_rank")]
    shares = [(n, DOUBLE) for n in ("percent_rank", "cume_dist")]
    return [
        *(WindowFunction(n, (), t, f"CAST({n}() AS {'BIGINT' if t is BIGINT else 'DOUBLE'})")
          for n, t in [*ranks, *shares]),
        WindowFunction("ntile", (Kind.INT,), INT, "ntile({0})", constant=frozenset({0})),
        *(WindowFunction(n, (any_,), _first_type, f"{n}({{0}})") for n in ("lag", "lead")),
        *(WindowFunction(n, (any_, Kind.INT), _first_type, f"{n}({{0}}, {{1}})", constant=offset)
          for n in ("lag", "lead")),
        *(WindowFunction(n, (Var.T, Kind.INT, Var.T), _first_type, f"{n}({{0}}, {{1}}, {{2}})",
                         constant=offset) for n in ("lag", "lead")),
        *(WindowFunction(n, (any_,), _first_type, f"{n}({{0}})")
          for n in ("first_value", "last_value")),
        WindowFunction("nth_value", (any_, Kind.INT), _first_type, "nth_value({0}, {1})",
                       constant=offset),
    ]  # fmt: skip
