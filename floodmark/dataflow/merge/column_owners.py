"""Owned columns: what an owner's operation makes of a key's row, as texts of the fold over a key.

In them `__o` is the operation and `__a` what those before it left; `__owners` of the operation's
row has the owner's name, and last the one under which it owns columns. A sink that was dropped
leaves its name in the rows that it has written. They stay as if a statement had written them, until
a sink of that name takes them over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import OWNERS
from floodmark.dataflow.merge.merge import SINKS
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import VARCHAR
from floodmark.spark.literals import literal
from floodmark.spark.types import ident
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.owners import Owner, owns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BY_OWNER = f"__o.r.{OWNERS} IS NOT NULL"
"""The text of: an owner does it."""
_MINE, _HELD = f"__o.r.{OWNERS}", f"__a.r.{OWNERS}"
_LEFT = f"array_except({_HELD}, {_MINE})"

GOES = f"(__a.r IS NULL OR (size({_LEFT}) = 0) IS TRUE)"
"""The text of: there is no row left when the owner has cleared its columns."""


def skip_rewritten_deletes(operations: str) -> str:
    """Return the text of operations without a sink's deletes where it writes the key again."""
    again = "y -> y.w > 0 AND y.o.stage = x.o.stage AND y.o.writer = x.o.writer"
    gone = f"x.w < 0 AND x.o.stage = {SINKS} AND exists({operations}, {again})"
    return f"filter({operations}, x -> NOT ({gone}))"


def first(names: Sequence[str], owners: Sequence[Owner]) -> dict[str, str]:
    """Return the values of a new row that an owner makes: NULL in the columns of other owners."""
    return _values(
        names, owners, lambda c, mine: f"CASE WHEN {mine} THEN __o.r.{c} END", others="__o.r"
    ) | {OWNERS: _MINE}


def set_owned(names: Sequence[str], owners: Sequence[Owner], *, keeps: bool) -> dict[str, str]:
    """Return the values of a row in which an owner sets its columns; it `keeps` what is NULL."""

    def value(c: str, mine: str) -> str:
        new = f"coalesce(__o.r.{c}, __a.r.{c})" if keeps else f"__o.r.{c}"
        return f"CASE WHEN {mine} THEN {new} ELSE __a.r.{c} END"

    return _values(names, owners, value) | {OWNERS: f"array_sort(array_union({_HELD}, {_MINE}))"}


def clear(names: Sequence[str], owners: Sequence[Owner]) -> dict[str, str]:
    """Return the values of a row in which an owner clears its columns."""
    values = _values(names, owners, lambda c, mine: f"CASE WHEN NOT {mine} THEN __a.r.{c} END")
    return values | {OWNERS: _LEFT}


def _values(
    names: Sequence[str],
    owners: Sequence[Owner],
    owned: Callable[[str, str], str],
    others: str = "__a.r",
) -> dict[str, str]:
    """Return a value per column; `owned` takes the column and whether it is the operation's own."""

    def mine(column: str) -> str:
        known = ", ".join(quote(one.name) for one in owners if column in one.columns)
        return f"element_at({_MINE}, -1) IN ({known})"

    any_ = {column for one in owners for column in one.columns}
    return {c: owned(ident(c), mine(c)) if c in any_ else f"{others}.{ident(c)}" for c in names}


_FORMERLY = " formerly"
"""Behind the name of an owner: what it owned before it owned other columns."""


def add_owners(
    frame: DataFrame,
    table: AnalysedObject,
    sink: AnalysedObject | None = None,
    *,
    formerly: bool = False,
) -> DataFrame:
    """Add who holds the rows, where columns have owners: the sink that is one, or nobody else.

    `formerly` takes the columns that the sink owned before, which can be others.
    """
    if not table.has_owners:
        return frame
    owner = "NULL"
    if sink is not None and owns(sink.object):
        name = sink.object.storage_key
        names = [name, name + _FORMERLY] if formerly else [name]
        owner = f"array({', '.join(literal(n, VARCHAR) for n in names)})"
    return frame.selectExpr("*", f"CAST({owner} AS ARRAY<STRING>) AS {OWNERS}")
