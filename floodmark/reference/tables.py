"""Tables: one merge function for everything that writes a keyed table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from floodmark.changelog import OWNERS, RowKind
from floodmark.errors import IntakeCode
from floodmark.plan.declare.conflicts import EXCLUDED
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.reference.changes import Change
from floodmark.reference.ownership import RowOwners, apply_owner
from floodmark.reference.rows import Row, canonical, key_of, sort_value
from floodmark.sql.statements import ConflictAction

KeyValues = tuple[Any, ...]
RowsByKey = Mapping[KeyValues, Row]

NOT_NULL = "not_null"
"""Why a row goes aside in which a value is missing that the table needs."""


@dataclass(frozen=True, slots=True)
class MergeRules:
    """What a keyed table does with a row whose key is there already.

    `assignments` and `condition` belong to DO UPDATE SET; they read the stored row's columns and,
    prefixed, those of the incoming row. Of a row that is merged of two the `generated` columns are
    computed, and the `not_null` ones must have a value. `owners` are sinks and the columns of which
    each is the owner.
    """

    primary_key: tuple[str, ...]
    action: ConflictAction = ConflictAction.UPDATE_FULL
    version_columns: tuple[str, ...] = ()
    assignments: tuple[tuple[str, Expr], ...] = ()
    condition: Expr | None = None
    generated: tuple[tuple[str, Expr], ...] = ()
    not_null: tuple[str, ...] = ()
    owners: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def merges(self) -> bool:
        """Tell whether a row can be made of the stored one and of one that comes."""
        return self.action in (ConflictAction.UPDATE_IF_NOT_NULL, ConflictAction.UPDATE_SET)

    def __post_init__(self) -> None:
        assert self.primary_key, "a keyed table has a key"
        nothing = self.action is ConflictAction.DO_NOTHING
        assert not (nothing and self.version_columns), "DO NOTHING never overwrites"


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that an expression of DO UPDATE SET has no value for, or that lacks one itself."""

    code: int
    row: Row

    @property
    def reason(self) -> str:
        """Return why the row goes aside, as the programs call it."""
        return NOT_NULL if self.code == IntakeCode.NULL_VALUE else f"E{self.code:04d}"


def rekey(changes: Sequence[Change], key: Sequence[str]) -> list[Change]:
    """Return a changelog by another key: `-U/+U` of unequal keys are `-D, +I`.

    Of an update with an equal key only the new row remains.
    """
    out: list[Change] = []
    before: Row | None = None
    for kind, row in changes:
        match kind:
            case RowKind.UPDATE_BEFORE:
                before = row
            case RowKind.UPDATE_AFTER if before is not None:
                if key_of(before, key) == key_of(row, key):
                    out.append((kind, row))
                else:
                    out += [(RowKind.DELETE, before), (RowKind.INSERT, row)]
                before = None
            case _:
                out.append((kind, row))
    assert before is None, "an update has an old and a new row"
    return out


def sink_changes_by_key(
    brought: Sequence[Sequence[Change]], key: Sequence[str], *, owned: bool = False
) -> list[list[Change]]:
    """Return what each sink brings in an epoch by the target's key, in its order.

    A delete whose key a sink writes again in the epoch is left out; where columns are `owned`, that
    sink itself.
    """
    rekeyed = [rekey(changes, key) for changes in brought]
    written = [
        {key_of(row, key) for kind, row in rows if kind is not RowKind.DELETE} for rows in rekeyed
    ]
    again = written if owned else [set[KeyValues]().union(*written)] * len(written)
    return [
        [c for c in rows if c[0] is not RowKind.DELETE or key_of(c[1], key) not in keys]
        for rows, keys in zip(rekeyed, again, strict=True)
    ]


def merge(
    stored: RowsByKey,
    changes: Iterable[Change],
    rules: MergeRules,
    now: datetime,
    written: set[KeyValues] | None = None,
    holds: dict[KeyValues, RowOwners] | None = None,
) -> tuple[dict[KeyValues, Row], int, list[RefusedRow]]:
    """Return the rows by key after the changes, how many were ignored, and those refused.

    `written` collects the keys of rows that were written, even without a change. A change with the
    name of an owner is that sink's; `holds` says, and is told, which owners hold a row.
    """
    rows, ignored, refused = dict(stored), 0, list[RefusedRow]()
    held = dict[KeyValues, RowOwners]() if holds is None else holds
    keys = set[KeyValues]() if written is None else written
    for kind, row in changes:
        key = key_of(row, rules.primary_key)
        old = rows.get(key)
        if OWNERS in row and kind is not RowKind.UPDATE_BEFORE:
            left = _apply_owned(kind, row, (old, held.get(key)), rules, now)
            if isinstance(left, RefusedRow):
                refused.append(left)
                continue
            ignored += left[0] == old
            _set_row(key, left, rows, held)
            continue
        match kind:
            case RowKind.DELETE:
                ignored += old is None
                rows.pop(key, None)
                held.pop(key, None)
            case RowKind.UPDATE_BEFORE:
                continue
            case _:
                new = _alone(row, rules) if old is None else _resolve(old, row, rules, now)
                if isinstance(new, RefusedRow):
                    refused.append(new)
                    continue
                ignored += new == old
                if new is not old:
                    keys.add(key)
                rows[key] = new
                held.pop(key, None)
    return rows, ignored, refused


def _apply_owned(
    kind: RowKind, row: Row, stored: tuple[Row | None, RowOwners], rules: MergeRules, now: datetime
) -> tuple[Row | None, RowOwners] | RefusedRow:
    owner, plain = row[OWNERS], {c: value for c, value in row.items() if c != OWNERS}
    keeps = rules.action is ConflictAction.UPDATE_IF_NOT_NULL
    new, held = apply_owner(kind, plain, owner, stored, dict(rules.owners), keeps=keeps)
    if new is None:
        return None, None
    done = _complete(new, plain, rules, now)
    return done if isinstance(done, RefusedRow) else (done, held)


def _set_row(
    key: KeyValues,
    left: tuple[Row | None, RowOwners],
    rows: dict[KeyValues, Row],
    holds: dict[KeyValues, RowOwners],
) -> None:
    row, held = left
    if row is None:
        rows.pop(key, None)
        holds.pop(key, None)
    else:
        rows[key], holds[key] = row, held


def _alone(row: Row, rules: MergeRules) -> Row | RefusedRow:
    """Return a row with a new key: it must bring what it could have taken from a stored row."""
    return _whole(row, row, rules) if rules.merges else row


def _resolve(old: Row, row: Row, rules: MergeRules, now: datetime) -> Row | RefusedRow:
    """Return the row that stays where a new row has the key of a stored one."""
    if _version(row, rules) < _version(old, rules):
        return old
    match rules.action:
        case ConflictAction.DO_NOTHING:
            return old
        case ConflictAction.UPDATE_FULL:
            return row
        case ConflictAction.UPDATE_IF_NOT_NULL:
            given = {name: value for name, value in row.items() if value is not None}
            return _complete({**old, **given}, row, rules, now)
        case ConflictAction.UPDATE_SET:
            return _assign(old, row, rules, now)


def _assign(old: Row, row: Row, rules: MergeRules, now: datetime) -> Row | RefusedRow:
    scope = {**old, **{EXCLUDED + name: value for name, value in row.items()}}
    if rules.condition is not None:
        value, error = evaluate(rules.condition, scope, now)
        if error is not None:
            return RefusedRow(int(error), row)
        if value is not True:
            return old
    results = {name: evaluate(expr, scope, now) for name, expr in rules.assignments}
    codes = [int(error) for _, error in results.values() if error is not None]
    if codes:
        return RefusedRow(min(codes), row)
    new = {**old, **{name: value for name, (value, _) in results.items()}}
    return _complete(new, row, rules, now)


def _complete(new: Row, row: Row, rules: MergeRules, now: datetime) -> Row | RefusedRow:
    """Return a merged row with its generated columns, or why there is none."""
    results = {name: evaluate(expr, new, now) for name, expr in rules.generated}
    codes = [int(error) for _, error in results.values() if error is not None]
    if codes:
        return RefusedRow(codes[0], row)
    done = {**new, **{name: value for name, (value, _) in results.items()}}
    return _whole(done, row, rules)


def _whole(new: Row, row: Row, rules: MergeRules) -> Row | RefusedRow:
    """Return what a row comes to, or that a value is missing that the table needs."""
    missing = any(new.get(name) is None for name in rules.not_null)
    return RefusedRow(int(IntakeCode.NULL_VALUE), row) if missing else new


def _version(row: Row, rules: MergeRules) -> tuple[Any, ...]:
    values = (canonical(row[column]) for column in rules.version_columns)
    return tuple((v is not None, () if v is None else sort_value(v)) for v in values)
