"""Watermark columns of every edge, in groups of one origin.

A watermark W on a column promises that no later change of either sign is below W, and that it is
never NULL. Where a join pads rows, one column of a pair carries the promise in each row: what
chooses between the two, `coalesce(l.w, r.w)`, carries it again. This file says which columns carry
one; `floodmark.stream.properties.watermark_values` computes the values, epoch by epoch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from floodmark.errors import BindError
from floodmark.plan.declaration import Declaration
from floodmark.plan.nodes import WatermarkColumn
from floodmark.stream.properties.monotonicity import monotone_column


@dataclass(frozen=True, slots=True)
class WatermarkPair:
    """Two columns of which one at least is not NULL; neither is ever below the watermark."""

    first: str
    second: str
    group: str


@dataclass(frozen=True, slots=True)
class Watermarks:
    """The columns that carry a watermark, and the pairs of columns that carry one together."""

    columns: tuple[WatermarkColumn, ...] = ()
    pairs: tuple[WatermarkPair, ...] = ()


def check_declaration(declared: Declaration) -> None:
    """Raise E0244 for a declared watermark that does not follow its column.

    The greatest value of the column gives the greatest of the expression: one is computed from the
    other, epoch by epoch.
    """
    for mark in declared.watermarks:
        if monotone_column(mark.expr) == mark.column:
            continue
        delay = "10" if mark.expr.type.is_numeric else "INTERVAL '5 seconds'"
        raise BindError(
            "E0244",
            f'the watermark of "{mark.column}" must follow that column: it may not fall '
            "while the column rises, nor depend on anything else",
            span=mark.expr.span,
            hint=f"write {mark.column} minus a constant without months: {mark.column} - {delay}",
        )


def restrict_watermarks(known: Watermarks, columns: tuple[str, ...]) -> Watermarks:
    return Watermarks(
        tuple(w for w in known.columns if w.column in columns),
        tuple(p for p in known.pairs if p.first in columns and p.second in columns),
    )


def merge_groups(groups: Iterable[str]) -> str:
    return "+".join(sorted({one for group in groups for one in group.split("+")}))
