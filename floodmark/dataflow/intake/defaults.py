"""DEFAULTs of a connector's rows: what a column takes that a row does not bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.connectors.absent import absent_column
from floodmark.connectors.base import OPERATION, UPSERTS
from floodmark.plan.declaration import Declaration
from floodmark.scalar.functions.volatile import RowSeed
from floodmark.scalar.types import BIGINT, INT
from floodmark.spark.expressions import compile as compile_expr
from floodmark.spark.rows import message_text
from floodmark.spark.types import ident
from floodmark.spark.user_functions import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def delivery_seed(seed: str, stored_key: str) -> RowSeed:
    """Return the seed of a delivered row: its partition and offset tell it from all others."""
    return RowSeed(seed, stored_key, (("__partition", INT), ("__offset", BIGINT)))


def with_defaults(frame: DataFrame, declared: Declaration, now: int, seed: RowSeed) -> DataFrame:
    """Return the rows with defaults in the columns that they came without.

    Why a default has no value for a row stands in `__default_0` …, what functions of users say of
    it in `__default_said_0` …, in the order of `Declaration.default_columns`.
    """
    given = [c for c in declared.columns if c.name in declared.default_columns]
    if not given:
        return frame
    from pyspark.sql.functions import expr

    # Text is read in a session of its own, which no view makes functions known to.
    register(frame.sparkSession, (c.default for c in given if c.default is not None))
    texts = {}
    for i, column in enumerate(given):
        assert column.default is not None
        compiled = compile_expr(column.default, now, seed)
        lacks = absent_column(column.name)
        if declared.is_messages:
            lacks = f"{OPERATION} = '{UPSERTS}' AND {lacks}"
        code = compiled.error or "CAST(NULL AS INT)"
        said = message_text(code, compiled.message)
        value = f"CASE WHEN {lacks} THEN {compiled.value} ELSE {ident(column.name)} END"
        texts[column.name] = expr(value)
        texts[f"__default_{i}"] = expr(f"CASE WHEN {lacks} THEN {code} END")
        texts[f"__default_said_{i}"] = expr(f"CASE WHEN {lacks} THEN {said} END")
    return frame.withColumns(texts)
