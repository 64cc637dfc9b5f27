"""Key sets: of what few changes meet, an operator reads again only the rows that have their keys.

Keys travel down a plan as bounds do, column by column, to the tables that are read. There Spark
drops all other rows before it joins or groups any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from floodmark.spark.types import ident

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEY = "__key"
KeySets = Mapping[str, "DataFrame"]
"""By column, the values that matter: few rows of one column. NULL is a value."""
ALL_KEYS: KeySets = MappingProxyType({})
"""All rows matter."""


def key_sets(changes: DataFrame, columns: Iterable[tuple[str, str]]) -> KeySets:
    """Return the values of columns of changes, by the column that they are looked up in.

    `columns` has both names of each, that of the changes last.
    """
    return {c: changes.selectExpr(f"{ident(values)} AS {_KEY}") for c, values in columns}


def rows_of_keys(rows: DataFrame, columns: Sequence[str], keys: KeySets) -> DataFrame:
    """Return the rows with the keys; `columns` are those of the rows."""
    from pyspark.sql import functions as F

    for column in columns:
        if column in keys:
            rows = rows.join(
                F.broadcast(keys[column]), F.expr(f"{ident(column)} <=> {_KEY}"), "left_semi"
            )
    return rows
