"""Messages: typed messages of FORMAT UPSERT and DEBEZIUM to operations on rows by key.

An operation is a row that is put or taken. An update that moves the key is two of them; which
comes first does not matter, because they are about different rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.changelog import EPOCH, ERROR, ROW_ID
from floodmark.connectors.base import BEFORE, DELETES, OPERATION, UPSERTS
from floodmark.dataflow.intake.source import PLACE
from floodmark.dataflow.materialize import OLD_ROW, comparable
from floodmark.plan.declaration import Declaration
from floodmark.scalar.types import VARCHAR, Field, Schema, struct_of
from floodmark.spark.types import ident

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STEP = "__step"


def message_fields(declared: Declaration) -> Schema:
    """Return the columns that operations have beside those of the row."""
    return (Field(OPERATION, VARCHAR, nullable=False), old_row_field(declared))


def old_row_field(declared: Declaration) -> Field:
    """Return the column with the old row as a message delivered it."""
    return Field(BEFORE, struct_of(*((f.name, f.type) for f in declared.physical)))


def operations(frame: DataFrame, declared: Declaration) -> DataFrame:
    """Return the operations of typed messages; `__before` stays with the one of its own key."""
    key = declared.primary_key
    steps = f"explode({_steps(key)}) AS {_STEP}"
    taken = {name: f"{BEFORE}.{ident(name)}" for name in key}
    row = [
        f"CASE WHEN {_STEP} = 'take' THEN {taken[c.name]} ELSE {ident(c.name)} END "
        f"AS {ident(c.name)}"
        if c.name in key
        else ident(c.name)
        for c in declared.columns
    ]
    return frame.selectExpr("*", steps).selectExpr(
        *row,
        *(ROW_ID, EPOCH, PLACE, ERROR),
        f"CASE WHEN {_STEP} = 'take' THEN '{DELETES}' ELSE {OPERATION} END AS {OPERATION}",
        f"CASE WHEN {_STEP} <> 'put' THEN {BEFORE} END AS {BEFORE}",
    )


def _steps(key: tuple[str, ...]) -> str:
    """Return the text of what to do with a message; one that is dead is one dead letter."""
    pairs = [(f"{BEFORE}.{ident(name)}", ident(name)) for name in key]
    known = " AND ".join(f"{old} IS NOT NULL" for old, _ in pairs)
    equal = " AND ".join(f"{old} <=> {new}" for old, new in pairs)
    moves = f"{ERROR} IS NULL AND {OPERATION} = '{UPSERTS}' AND {known} AND NOT ({equal})"
    return f"CASE WHEN {moves} THEN array('take', 'put') ELSE array('only') END"


def differs(before: str, declared: Declaration) -> str:
    """Return the test whether a delivered old row says something else than the stored one.

    What it leaves out, or has as NULL, it does not say: databases send the key alone, too.
    """
    tests = []
    for column in declared.physical:
        sides = [f"{side}.{ident(column.name)}" for side in (before, OLD_ROW)]
        old, stored = (comparable(side, column.type) for side in sides)
        tests.append(f"({sides[0]} IS NOT NULL AND NOT ({old} <=> {stored}))")
    other = " OR ".join(tests)
    return f"{before} IS NOT NULL AND ({OLD_ROW} IS NULL OR {other})"
