"""Rows by whether their key is among those of other rows.

NULL equals NULL here: keys are those of rows at rest, not of a join's condition.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from floodmark.limits import Limits
from floodmark.spark.types import ident

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PREFIX = "__other_"


def is_unique(rows: DataFrame, key: Sequence[str]) -> bool:
    """Tell whether no two rows have one key: a job that reads the key alone."""
    counted = rows.groupBy(*map(ident, key)).count()
    return bool(counted.where("count > 1").isEmpty())


def semi_join(rows: DataFrame, others: DataFrame, key: Sequence[str], *, few: bool) -> DataFrame:
    """Return the rows whose key the others have too; `few` tells that there are few others."""
    return rows.join(_keys(others, key, few), _equal(key), "left_semi")


def prune_stored(
    rows: DataFrame, held: int, keys: DataFrame, key: tuple[str, ...], limits: Limits
) -> DataFrame:
    """Return the rows, those of the keys alone where they hold too many bytes to broadcast.

    Spark cannot broadcast the preserved side of the outer join that follows: it would shuffle
    the whole state.
    """
    if not key or held < limits.whole_bytes:
        return rows
    return semi_join(rows, keys, key, few=False)


def anti_join(
    rows: DataFrame,
    others: DataFrame,
    key: Sequence[str],
    *,
    few: bool,
    filled: Collection[str] = (),
) -> DataFrame:
    """Return the rows whose key the others have not; `few` tells that there are few others.

    The columns `filled` are NULL in none of the rows.
    """
    return rows.join(_keys(others, key, few), _equal(key, filled), "left_anti")


def left_join(
    rows: DataFrame, others: DataFrame, key: Sequence[str], columns: Sequence[str]
) -> DataFrame:
    """Return each row with `columns` of the other one of its key, NULLs where there is none.

    They are Spark SQL with an alias that no column of `rows` has.
    """
    return rows.join(others.selectExpr(*_key_aliases(key), *columns), _equal(key), "left")


def inner_join(
    rows: DataFrame, others: DataFrame, key: Sequence[str], columns: Sequence[str]
) -> DataFrame:
    """Return each row once per other one of its key, with `columns` of that, named likewise."""
    return rows.join(others.selectExpr(*_key_aliases(key), *columns), _equal(key), "inner")


def hint_broadcast(frame: DataFrame, few: bool) -> DataFrame:
    """Return the rows to be sent whole to every task where there are few of them."""
    from pyspark.sql import functions as F

    return F.broadcast(frame) if few else frame


def _keys(others: DataFrame, key: Sequence[str], few: bool) -> DataFrame:
    return hint_broadcast(others.selectExpr(*_key_aliases(key)), few)


def _key_aliases(key: Sequence[str]) -> list[str]:
    return [f"{ident(c)} AS {ident(_PREFIX + c)}" for c in key]


def _equal(key: Sequence[str], filled: Collection[str] = ()) -> Column:
    from pyspark.sql import functions as F

    tests = (f"{ident(c)} {equals(c, filled)} {ident(_PREFIX + c)}" for c in key)
    return F.expr(" AND ".join(tests) or "TRUE")


def equals(column: str, filled: Collection[str]) -> str:
    """Return the operator by which keys are equal: NULL equals NULL, where rows have any.

    Where they have none, Spark looks up the values alone, without a mark for NULL beside each.
    """
    return "=" if column in filled else "<=>"
