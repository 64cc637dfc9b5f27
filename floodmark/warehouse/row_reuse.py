"""Which rows stay when a definition changes: under other columns, or as what another query differs.

A table keeps its rows when columns are added or dropped, and so does a sink into it. A view or a
sink keeps its rows under another query if its key and its columns stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from floodmark.catalog.catalog import RENAMED
from floodmark.catalog.objects import ObjectKind
from floodmark.changelog import OWNERS, ROW_ID, is_hidden
from floodmark.plan.declaration import REPLACE, ColumnInfo, Declaration
from floodmark.plan.declare.ttl import needs_rebuild
from floodmark.plan.expr.expressions import Expr
from floodmark.plan.rules.alike import alike
from floodmark.sql import statements as s
from floodmark.stream.ndu import mode_of
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout


@dataclass(frozen=True)
class RowReuse:
    """How stored rows become those of the new definition.

    `stored` maps each column to its former name; a column that is not in it is new. `filled` has
    the value that stored rows take in a new column, as an expression, where that is not NULL.
    """

    stored: Mapping[str, str]
    filled: Mapping[str, Expr]
    gone: tuple[str, ...] = ()
    reason: str = ""
    always: bool = False

    @property
    def moves(self) -> bool:
        """Tell whether the columns at rest are others, or may be."""
        return bool(self.always or self.gone or self.new_columns or self.former_names)

    @property
    def new_columns(self) -> tuple[str, ...]:
        """Return the new columns of which stored rows take a value, or none has a value."""
        return tuple(c for c, old in self.stored.items() if old == "")

    @property
    def former_names(self) -> dict[str, str]:
        """Map the columns that have another name to their former one."""
        return {c: old for c, old in self.stored.items() if old not in ("", c)}


def reshaping(old: AnalysedObject, new: AnalysedObject) -> RowReuse | None:
    """Return how the rows of a source or table go on; None where they cannot."""
    before, after = old.declared, new.declared
    if before is None and after is not None:
        return _view_reuse(old, new)
    if before is None or after is None or old.kind is not new.kind:
        return None
    past = new.object.past[len(old.object.past) :]
    names = {said[1]: said[2] for said in past if said[0] == RENAMED}
    previous = {after_: before_ for before_, after_ in names.items()}
    columns = {c.name: c for c in before.columns}
    stored = {c.name: previous.get(c.name, c.name) for c in after.columns}
    stored = {c: (was if was in columns else "") for c, was in stored.items()}
    alike = all(_alike(columns[stored[c.name]], c) for c in after.columns if stored[c.name])
    if not alike or not _same_but_columns(old, new, names):
        return None
    fresh = [c for c in after.columns if not stored[c.name]]
    if any(c.generated is not None or (c.not_null and c.default is None) for c in fresh):
        return None
    gone = tuple(c for c in columns if c not in stored.values())
    if new.has_owners and not old.has_owners:
        stored[OWNERS] = ""
    moves = bool(fresh or gone or names)
    if moves and (after.transform is not None or after.is_messages):
        return None
    filled = {c.name: c.default for c in fresh if c.default is not None}
    reason = _reason(before, after, [c.name for c in fresh], gone, names)
    if new.has_owners and not old.has_owners and not moves:
        reason = "sinks own columns of it: its rows stay"
    return RowReuse(stored, filled, gone, reason)


def fits_stored(old: AnalysedObject, new: AnalysedObject) -> bool:
    """Tell whether the rows of a source or table that nothing else is known of are as declared."""
    if old.kind is not new.kind or new.declared is None or new.opaque:
        return False
    before, after = ({f.name: f.type for f in o.relation.columns} for o in (old, new))
    if before != after:
        return False
    if not isinstance(old.object.statement, s.RefusedDefinition):
        return old.relation.primary_key == new.relation.primary_key
    # A text that is not read does not say the key: all its columns are NOT NULL, and rows that
    # differ in some columns differ in more.
    filled = {f.name for f in old.relation.visible if not f.nullable}
    return ROW_ID in after or filled == {*new.relation.primary_key}


def _view_reuse(old: AnalysedObject, new: AnalysedObject) -> RowReuse | None:
    """Return how a view's rows become those of a table: as they are, without hidden columns.

    None where the table has another key.
    """
    plain = old.kind is ObjectKind.MATERIALIZED_VIEW and new.kind is ObjectKind.TABLE
    shown = [(f.name, f.type) for f in old.relation.visible]
    alike = shown == [(f.name, f.type) for f in new.relation.columns]
    if not plain or not alike or old.relation.stream_key != new.relation.stream_key:
        return None
    hidden = tuple(f.name for f in (*old.relation.columns, *layout.own_state(old)))
    gone = tuple(name for name in hidden if name not in dict(shown))
    reason = "it is a table from now on: its rows stay"
    return RowReuse({}, {}, gone, reason, always=True)


def _alike(old: ColumnInfo, new: ColumnInfo) -> bool:
    """Tell whether rows have the same values in a column, under whichever name."""
    same = (old.type, old.not_null, old.metadata) == (new.type, new.not_null, new.metadata)
    if old.generated is None or new.generated is None:
        return same and old.generated is new.generated
    return same and (old.generated == new.generated or old.name != new.name)


def _same_but_columns(old: AnalysedObject, new: AnalysedObject, names: Mapping[str, str]) -> bool:
    """Tell whether nothing differs but columns, ON CONFLICT, and when rows are late."""
    before, after = old.declared, new.declared
    assert before is not None and after is not None

    def bare(declared: Declaration) -> Declaration:
        plain = replace(declared, columns=(), conflict=REPLACE, watermarks=(), primary_key=())
        return replace(plain, ttl=None)

    key = tuple(names.get(c, c) for c in before.primary_key)
    stream_key = tuple(names.get(c, c) for c in old.relation.stream_key)
    marks = tuple(names.get(w.column, w.column) for w in before.watermarks)
    ends = needs_rebuild(before.ttl, after.ttl, append_only=after.append_only)
    return (
        ends is None
        and bare(before) == bare(after)
        and key == after.primary_key
        and stream_key == new.relation.stream_key
        and marks == tuple(w.column for w in after.watermarks)
        and (before.watermarks == after.watermarks or not names)
    )


def _reason(
    before: Declaration,
    after: Declaration,
    fresh: list[str],
    gone: tuple[str, ...],
    names: Mapping[str, str],
) -> str:
    parts = [f"column {name} is added" for name in fresh]
    parts += [f"column {name} goes" for name in gone]
    parts += [f"column {old} is now {new}" for old, new in names.items()]
    if before.conflict != after.conflict and not parts:
        parts.append("its conflict behaviour changed")
    if before.watermarks != after.watermarks and not names:
        parts.append("its watermark changed")
    if before.ttl != after.ttl:
        parts.append("its TTL changed")
    return f"{', '.join(parts) or 'its definition changed'}: its rows stay"


def sends_alike(old: AnalysedObject, new: AnalysedObject) -> bool:
    """Tell whether a sink to the outside says the same of its rows and its place in other words."""
    if old.external_sink is None or old.plan is None or new.plan is None:
        return False
    return (
        old.relation == new.relation
        and old.plan.root == new.plan.root
        and old.external_sink == new.external_sink
        and mode_of(old.object) == mode_of(new.object)
    )


def is_widened(old: AnalysedObject, new: AnalysedObject) -> bool:
    """Tell whether a sink differs only because its target's columns do; its state stays then."""
    if new.kind is not ObjectKind.SINK or old.plan is None or new.plan is None:
        return False
    same = (old.object.statement, old.object.target) == (new.object.statement, new.object.target)
    kept = [
        [(node, plan[node].state) for node in plan.nodes if plan[node].state]
        for plan in (old.plan, new.plan)
    ]
    return same and kept[0] == kept[1]


def reads_alike(old: AnalysedObject, new: AnalysedObject) -> bool:
    """Tell whether only columns that an object does not use differ in what it reads."""
    if old.plan is None or new.plan is None or old.object.statement != new.object.statement:
        return False
    return old.relation == new.relation and alike(old.plan.root, new.plan.root)


def is_computed_alike(old: AnalysedObject, new: AnalysedObject) -> bool:
    """Tell whether a query that only calls columns otherwise has the same rows and state.

    A sink into a table stores no rows of its own: its columns may have the names of the target's.
    """
    if old.plan is None or new.plan is None or old.kind is not new.kind:
        return False
    into = new.object.target is not None and old.object.target == new.object.target
    same = into or (old.relation, old.external_sink) == (new.relation, new.external_sink)
    kept = [
        [(type(node), node.schema, plan[node].state) for node in plan.nodes if plan[node].state]
        for plan in (old.plan, new.plan)
    ]
    return same and kept[0] == kept[1]


def can_be_replaced(old: AnalysedObject, new: AnalysedObject) -> bool:
    """Tell whether another query goes on from the rows of the former one.

    Rows of a view are found by its key; what only adds rows takes none back.
    """
    if old.plan is None or new.plan is None or old.kind is not new.kind:
        return False
    if new.kind is ObjectKind.SINK:
        return new.object.target is not None and old.object.target == new.object.target
    plain = new.kind is ObjectKind.MATERIALIZED_VIEW and not (new.refreshes or old.refreshes)
    closes = old.emits_on_close or new.emits_on_close
    one_by_one = old.append_only or new.append_only
    return plain and not closes and not one_by_one and _same_rows(old, new)


def _same_rows(old: AnalysedObject, new: AnalysedObject) -> bool:
    """Tell whether rows have the same key and hidden columns, and no column another type."""
    before, after = ({f.name: f.type for f in o.relation.columns} for o in (old, new))
    same_type = all(before[name] == type_ for name, type_ in after.items() if name in before)
    hidden = [{n for n in names if is_hidden(n)} for names in (before, after)]
    same_key = old.relation.stream_key == new.relation.stream_key
    return same_type and same_key and hidden[0] == hidden[1]
