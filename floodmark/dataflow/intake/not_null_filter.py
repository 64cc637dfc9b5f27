"""NOT NULL filter: a sink's rows with a NULL in a NOT NULL column become dead letters."""

from __future__ import annotations

from dataclasses import replace

from floodmark.changelog import ERROR, WEIGHT
from floodmark.dataflow.intake.dead_letter_texts import lacking
from floodmark.errors import IntakeCode
from floodmark.plan.declaration import Declaration
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Schema
from floodmark.spark.rows import ERROR_TYPE, Rows, letter_of
from floodmark.spark.types import ident


def mark_nulls(rows: Rows, columns: Schema, declared: Declaration, *, owned: bool = False) -> Rows:
    """Return the rows, those without a value that the table needs on their way aside.

    A time with a watermark is left to the watermark's filter. A row may be merged with the stored
    one, or its sink's columns may be `owned`. Then the merged row is checked, and of the row itself
    only the key.
    """
    nullable = {f.name for f in columns if f.nullable}
    nullable -= {mark.column for mark in declared.watermarks}
    needed = [
        c.name
        for c in declared.columns
        if c.not_null and c.name in nullable
        if c.name in declared.primary_key or not (owned or declared.conflict.merges)
    ]
    if not needed:
        return rows
    names = rows.letter_columns([f.name for f in columns])
    code = str(IntakeCode.NULL_VALUE.value)
    whens = [f"WHEN {ERROR} IS NOT NULL THEN {ERROR}"] if rows.failing else []
    for column in needed:
        # An old row that is taken back by its key alone has NULL in what is not known of it.
        known = f" AND {WEIGHT} > 0" if column in rows.unknown else ""
        letter = letter_of(code, quote(f"{column} NOT NULL"), names, lacking(column))
        whens.append(f"WHEN {ident(column)} IS NULL{known} THEN CAST({letter} AS {ERROR_TYPE})")
    kept = [*(ident(f.name) for f in columns), *rows.marks]
    frame = rows.frame.selectExpr(*kept, f"CASE {' '.join(whens)} END AS {ERROR}")
    return replace(rows, frame=frame, failing=True)
