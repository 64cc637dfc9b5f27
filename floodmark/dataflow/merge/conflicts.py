"""Conflicts: what a key's operations, in their order, make of its stored row.

A key's operations are a list, which is folded: each one meets the row that those before it left. A
delete of a sink whose key a sink writes again in the epoch is left out; where columns have owners,
that sink itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from floodmark.changelog import HIDDEN_PREFIX, OWNERS, WEIGHT
from floodmark.dataflow.intake.dead_letter_texts import merge_message
from floodmark.dataflow.materialize import NEW_ROW, OLD_ROW
from floodmark.dataflow.merge import column_owners
from floodmark.dataflow.merge.merge import CAME, ORDER, SINKS, row_type
from floodmark.errors import IntakeCode
from floodmark.plan.declaration import ConflictRule, Declaration
from floodmark.plan.declare.conflicts import EXCLUDED
from floodmark.scalar.types import Schema
from floodmark.spark.expressions import compile as compile_expr, smallest
from floodmark.spark.rows import ERROR_TYPE
from floodmark.spark.types import ident
from floodmark.sql.statements import ConflictAction
from floodmark.stream.objects.owners import Owner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OPERATIONS, REFUSED, WRITTEN = "__operations", "__refused", "__written"
LABEL = "ON CONFLICT"
_IN_ORDER = "(x, y) -> CASE WHEN x.o < y.o THEN -1 WHEN x.o > y.o THEN 1 ELSE 0 END"


def list_operations(
    operations: DataFrame, columns: Schema, key: tuple[str, ...], owners: Sequence[Owner] = ()
) -> DataFrame:
    """Return, per key, the list of operations on its row: `(o order, w weight, r row)`."""
    from pyspark.sql import functions as F

    row = f"struct({', '.join(ident(f.name) for f in columns)})"
    one = f"struct({ORDER} AS o, {WEIGHT} AS w, {row} AS r)"
    again = f"coalesce(bool_or({WEIGHT} > 0 AND {ORDER}.stage = {SINKS}), FALSE)"
    grouped = operations.groupBy(*map(ident, key)).agg(
        F.expr(f"array_sort(collect_list({one}), {_IN_ORDER})").alias(OPERATIONS),
        F.expr(again).alias("__again"),
        *(F.expr(text).alias(name) for name, text in CAME.items()),
    )
    kept = f"filter({OPERATIONS}, x -> NOT (__again AND x.w < 0 AND x.o.stage = {SINKS}))"
    kept = column_owners.skip_rewritten_deletes(OPERATIONS) if owners else kept
    return grouped.selectExpr(*map(ident, key), f"{kept} AS {OPERATIONS}", *CAME)


def can_refuse(declared: Declaration, owners: Sequence[Owner] = ()) -> bool:
    """Tell whether a row can be refused by the table's conflict behaviour, or by its owners."""
    needs = any(c.not_null for c in declared.columns)
    return (declared.conflict.merges or bool(owners)) and (needs or _fails(declared))


def _fails(declared: Declaration) -> bool:
    conflict = declared.conflict
    generated = [c.generated for c in declared.columns if c.generated is not None]
    exprs = [*dict(conflict.assignments).values(), *generated]
    exprs += [] if conflict.condition is None else [conflict.condition]
    return any(compile_expr(e, 0).error is not None for e in exprs)


def fold_operations(
    pairs: DataFrame,
    declared: Declaration,
    columns: Schema,
    now: int,
    owners: Sequence[Owner] = (),
) -> DataFrame:
    """Return each key's stored row, the row that replaces it, the refused rows and the operations.

    What is refused is an ARRAY of dead letters: STRUCT of error and row. It is told whether the row
    was `written`, though it be as it was.
    """
    names = [f.name for f in columns]
    type_ = row_type(columns)
    letters = f"ARRAY<STRUCT<error:{ERROR_TYPE},r:{type_}>>"
    start = f"named_struct('r', {OLD_ROW}, 'refused', CAST(array() AS {letters}), 'w', FALSE)"
    met = _print_conflict(declared, names, type_, now)
    shown = ", ".join(f"__o.r.{ident(c)}" for c in names if not c.startswith(HIDDEN_PREFIX))
    letter = (
        f"named_struct('code', __m.code, 'expression', '{LABEL}', 'row', "
        f"to_json(struct({shown}), map('ignoreNullFields', 'false')), "
        f"'place', CAST(NULL AS STRING), 'message', {_message(declared)})"
    )
    said = f"named_struct('error', CAST({letter} AS {ERROR_TYPE}), 'r', __o.r)"
    more = f"array_append(__a.refused, {said})"
    merged = "CASE WHEN __m.code IS NULL THEN __m.r ELSE __a.r END"
    refused = f"CASE WHEN __m.code IS NULL THEN __a.refused ELSE {more} END"
    written = "__a.w OR (__m.code IS NULL AND __m.w)"
    result = f"named_struct('r', {merged}, 'refused', CAST({refused} AS {letters}), 'w', {written})"
    gone = f"named_struct('r', CAST(NULL AS {type_}), 'refused', __a.refused, 'w', FALSE)"
    ours, theirs = _owner_texts(declared, names, type_, now, owners) if owners else ("", "")
    whens = [f"{ours} THEN {_one(theirs, result)}"] if owners else []
    whens.append(f"__o.w < 0 THEN {gone}")
    step = f"CASE WHEN {' WHEN '.join(whens)} ELSE {_one(met, result)} END"
    fold = f"aggregate({OPERATIONS}, {start}, (__a, __o) -> {step})"
    # A generator keeps the fold from being evaluated once per place that reads its result.
    made = f"inline(array({fold})) AS ({NEW_ROW}, {REFUSED}, {WRITTEN})"
    return pairs.selectExpr(OLD_ROW, made, *CAME)


def _one(met: str, result: str) -> str:
    """Return the text of a result that reads what was met, as `__m`, several times."""
    return f"transform(array({met}), __m -> {result})[0]"


def _owner_texts(
    declared: Declaration, names: list[str], type_: str, now: int, owners: Sequence[Owner]
) -> tuple[str, str]:
    """Return the texts of: an owner does it; and of what it leaves, `(code, r)`."""

    def merge(values: Mapping[str, str]) -> str:
        return _check(_stays(_row(values), type_), declared, names, type_, now)

    keeps = declared.conflict.action is ConflictAction.UPDATE_IF_NOT_NULL
    whens = [
        f"WHEN __o.w < 0 AND {column_owners.GOES} THEN {_stays('NULL', type_)}",
        f"WHEN __o.w < 0 THEN {merge(column_owners.clear(names, owners))}",
        f"WHEN __a.r IS NULL THEN {merge(column_owners.first(names, owners))}",
    ]
    otherwise = merge(column_owners.set_owned(names, owners, keeps=keeps))
    return column_owners.BY_OWNER, f"CASE {' '.join(whens)} ELSE {otherwise} END"


def _print_conflict(declared: Declaration, names: list[str], type_: str, now: int) -> str:
    """Return the text of what stays where the row `o.r` meets `a.r`: `(code, r)`."""
    conflict = declared.conflict
    # Alone a row has to have what it could have taken from a stored one.
    code = _missing("__o.r", declared) if conflict.merges else None
    whens = [f"WHEN __a.r IS NULL THEN {_stays('__o.r', type_, code)}"]
    left = _stays("__a.r", type_, writes="FALSE")
    if conflict.versions:
        incoming, stored = (
            f"struct({', '.join(f'{side}.{ident(c)}' for c in conflict.versions)})"
            for side in ("__o.r", "__a.r")
        )
        whens.append(f"WHEN {incoming} < {stored} THEN {left}")
    match conflict.action:
        case ConflictAction.DO_NOTHING:
            otherwise = left
        case ConflictAction.UPDATE_FULL:
            otherwise = _stays("__o.r", type_)
        case ConflictAction.UPDATE_IF_NOT_NULL:
            values = {c: f"coalesce(__o.r.{ident(c)}, __a.r.{ident(c)})" for c in names}
            values |= {OWNERS: f"__o.r.{OWNERS}"} if OWNERS in names else {}
            otherwise = _check(_stays(_row(values), type_), declared, names, type_, now)
        case ConflictAction.UPDATE_SET:
            otherwise = _set(declared, names, type_, now)
    return f"CASE {' '.join(whens)} ELSE {otherwise} END"


def _set(declared: Declaration, names: list[str], type_: str, now: int) -> str:
    conflict = declared.conflict
    around = {c: f"__a.r.{ident(c)}" for c in names}
    around |= {EXCLUDED + c: f"__o.r.{ident(c)}" for c in names}
    compiled = {c: compile_expr(e, now, columns=around) for c, e in conflict.assignments}
    values = {c: f"__a.r.{ident(c)}" for c in names} | {c: e.value for c, e in compiled.items()}
    code = smallest([e.error for e in compiled.values()])
    new = _check(_stays(_row(values), type_, code), declared, names, type_, now)
    return _where(conflict, around, new, type_, now)


def _where(
    conflict: ConflictRule, around: Mapping[str, str], new: str, type_: str, now: int
) -> str:
    if conflict.condition is None:
        return new
    where = compile_expr(conflict.condition, now, columns=around)
    whens = [f"WHEN {where.value} THEN {new}"]
    if where.error is not None:
        failed = _stays("__a.r", type_, where.error)
        whens.insert(0, f"WHEN ({where.error}) IS NOT NULL THEN {failed}")
    return f"CASE {' '.join(whens)} ELSE {_stays('__a.r', type_, writes='FALSE')} END"


def _check(row: str, declared: Declaration, names: list[str], type_: str, now: int) -> str:
    """Return the text of a merged row with generated columns; NULL where there is none is refused.

    Generated columns of a merged row are computed anew, not taken from the rows that it merges.
    """
    mine = {c: f"__g.r.{ident(c)}" for c in names}
    generated = {c.name: c.generated for c in declared.columns if c.generated is not None}
    compiled = {c: compile_expr(e, now, columns=mine) for c, e in generated.items()}
    out = row
    if compiled:
        values = mine | {c: e.value for c, e in compiled.items()}
        code = _first("__g.code", [e.error for e in compiled.values()])
        out = f"transform(array({out}), __g -> {_stays(_row(values), type_, code)})[0]"
    missing = _missing("__n.r", declared)
    if missing is None:
        return out
    code = f"coalesce(__n.code, {missing})"
    return f"transform(array({out}), __n -> {_stays('__n.r', type_, code)})[0]"


def _missing(row: str, declared: Declaration) -> str | None:
    """Return the text of the code of a row without a value that the table needs."""
    needed = [c.name for c in declared.columns if c.not_null]
    if not needed:
        return None
    missing = " OR ".join(f"{row}.{ident(c)} IS NULL" for c in needed)
    return f"CASE WHEN {missing} THEN {IntakeCode.NULL_VALUE.value} END"


def _message(declared: Declaration) -> str:
    """Return the text of what a letter says: which values are missing."""
    needed = [c.name for c in declared.columns if c.not_null]
    if not needed:
        return "CAST(NULL AS STRING)"
    message = merge_message("__o.r", needed)
    return f"CASE WHEN __m.code = {IntakeCode.NULL_VALUE.value} THEN {message} END"


def _first(code: str, others: Iterable[str | None]) -> str:
    return f"coalesce({', '.join([code, *(e for e in others if e is not None)])})"


def _stays(row: str, type_: str, code: str | None = None, *, writes: str = "TRUE") -> str:
    """Return the text of a result: a row, the code of why it is none, whether it is written."""
    value = f"CAST({row} AS {type_})"
    return f"named_struct('code', CAST({code or 'NULL'} AS INT), 'r', {value}, 'w', {writes})"


def _row(values: Mapping[str, str]) -> str:
    return "named_struct(" + ", ".join(f"{_text(c)}, {v}" for c, v in values.items()) + ")"


def _text(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
