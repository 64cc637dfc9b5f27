"""Sizes of an object's tables with their roles and cleaning, from file lists alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from floodmark.catalog.objects import ObjectKind
from floodmark.plan.expr.printing import show_name
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.table import Store
from floodmark.storage.warehouse import STATE
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout

STORED = (ObjectKind.SOURCE, ObjectKind.TABLE, ObjectKind.MATERIALIZED_VIEW)
_RETENTION = "retention"


@dataclass(frozen=True)
class TableSize:
    """One table of an object: its role, its key, what cleans it, its rows and bytes.

    `node` is the operator whose state it is. Rows and bytes are None if nothing is stored yet.
    """

    table: str
    role: str
    key: tuple[str, ...]
    cleaned_by: str
    node: str | None = None
    rows: int | None = None
    bytes: int | None = None

    @property
    def is_state(self) -> bool:
        """Tell whether it is an operator's state."""
        return self.table.startswith(f"{STATE}/")

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "table": self.table,
            "role": self.role,
            "node": self.node,
            "key": [show_name(c) for c in self.key],
            "cleaned_by": self.cleaned_by,
            "rows": self.rows,
            "bytes": self.bytes,
        }


def sizes_of(
    obj: AnalysedObject, store: Store, record: ObjectRecord | None
) -> tuple[TableSize, ...]:
    """Return the tables of an object as of `record`, its rows first; a sink has states only.

    The record is that of the object, or for a sink, of the table that it feeds.
    """
    versions = {} if record is None else record.versions
    tables = (*_tables_of(obj), *_layers(obj, versions))
    return tuple(_measure(t, store, versions.get(t.table)) for t in tables)


def total(sizes: Sequence[TableSize], *, state: bool) -> tuple[int | None, int | None]:
    """Return rows and bytes of the states, or of the object's own rows; None if it has none."""
    own = [t for t in sizes[:1] if not t.is_state]
    chosen = [t for t in sizes if t.is_state] if state else own
    if not chosen:
        return None, None
    return sum(t.rows or 0 for t in chosen), sum(t.bytes or 0 for t in chosen)


def as_text(sizes: Sequence[TableSize]) -> str:
    """Return the tables as lines of columns; a dash stands for a table without rows yet."""
    head = ("table", "holds", "key", "cleaned by", "rows", "bytes")
    rows = [head, *(_cells(t) for t in sizes)]
    widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
    lines = []
    for row in rows:
        left = [cell.ljust(w) for cell, w in zip(row[:4], widths, strict=False)]
        right = [cell.rjust(w) for cell, w in zip(row[4:], widths[4:], strict=True)]
        lines.append("   ".join([*left, *right]))
    return "\n".join(lines)


def _cells(size: TableSize) -> tuple[str, ...]:
    counts = ("-" if n is None else f"{n:,}" for n in (size.rows, size.bytes))
    role = size.role if size.node is None else f"{size.role} of {size.node}"
    return size.table, role, ", ".join(map(show_name, size.key)), size.cleaned_by, *counts


def _measure(size: TableSize, store: Store, version: int | None) -> TableSize:
    if version is None or not store.exists(size.table):
        return size
    files = store.open(size.table, version).files
    return replace(size, rows=sum(f.rows for f in files), bytes=sum(f.size for f in files))


def _tables_of(obj: AnalysedObject) -> Iterator[TableSize]:
    if obj.kind in STORED:
        yield from _public_sizes(obj)
    plan = obj.plan
    for node in () if plan is None else plan.nodes:
        assert plan is not None
        for state in plan[node].tables:
            yield TableSize(
                layout.state_table(obj, state.name),
                state.role,
                state.key,
                state.cleaning,
                plan[node].identifier,
            )


def _layers(obj: AnalysedObject, versions: Mapping[str, int]) -> Iterator[TableSize]:
    table = layout.layer_table(obj)
    if table in versions:
        key = ("__epoch", *obj.relation.stream_key)
        yield TableSize(table, "changes over the rows", key, "the next fold")


def _public_sizes(obj: AnalysedObject) -> Iterator[TableSize]:
    """Yield the tables that readers name: rows, changes, late rows, dead letters."""
    key = obj.relation.stream_key
    held = "rows, accumulators" if layout.own_state(obj) else "rows"
    ends = "nothing" if obj.append_only else "its changes"
    yield TableSize(layout.current_table(obj), held, key, ends)
    if not obj.append_only:
        yield TableSize(layout.changes_table(obj), "changes", ("__epoch", *key), _RETENTION)
    if obj.declared is not None and obj.declared.watermarks:
        yield TableSize(layout.late_table(obj), "late rows", (), _RETENTION)
    ends = _RETENTION if layout.expires_dead_letters(obj) else "the row's return"
    yield TableSize(layout.dead_letter_table(obj), "dead letters", (), ends)
