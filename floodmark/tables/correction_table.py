"""The corrections of a view at rest: the table beside it, and what queries see of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from floodmark.changelog import ADDED, EPOCH, ERROR, KIND, WEIGHT
from floodmark.scalar.types import BIGINT, TIMESTAMPTZ, VARCHAR, Field, Schema
from floodmark.spark import keyed
from floodmark.spark.rows import ERROR_TYPE, Rows
from floodmark.spark.types import ident
from floodmark.storage.table import Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout
from floodmark.tables.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SHOWN = (
    (EPOCH, "epoch", BIGINT),
    (layout.BACKFILL, "backfill", BIGINT),
    (layout.CORRECTED_AT, "corrected_at", TIMESTAMPTZ),
    (KIND, "kind", VARCHAR),
)
_ADDS = f"{KIND} IN {ADDED}"
_LAST = f"struct({layout.BACKFILL}, {KIND} IN {ADDED})"
WEIGHED = f"CASE WHEN {KIND} IN {ADDED} THEN 1 ELSE -1 END AS {WEIGHT}"


def corrections(tables: Tables, obj: AnalysedObject) -> DataFrame | None:
    """Return the corrections of a view, with the columns at rest; None where there are none."""
    table = layout.corrections_table(obj)
    if not tables.store.exists(table):
        return None
    return tables.read(tables.store.open(table), layout.corrections_schema(obj))


def application(obj: AnalysedObject) -> str:
    """Return the application whose transaction is the number of a view's last backfill."""
    return f"{obj.object.storage_key}/corrections"


def newest(store: Store, obj: AnalysedObject) -> int:
    """Return the number of the last backfill that corrected a view; 0 before the first."""
    table = layout.corrections_table(obj)
    if not store.exists(table):
        return 0
    return store.open(table).transaction(application(obj)) or 0


def with_corrections(
    rows: Rows | None, obj: AnalysedObject, tables: Tables, number: int
) -> Rows | None:
    """Return the rows with which a view begins, corrected by its backfills up to a number."""
    note = corrections(tables, obj)
    if note is None:
        return rows
    from pyspark.sql import functions as F

    key = obj.relation.stream_key
    assert key, "what is released on close has the column that closes it"
    names = [ident(f.name) for f in obj.relation.columns]
    note = note.where(f"{layout.BACKFILL} <= {number}")
    newest = f"max_by(struct({', '.join(names)}, {_ADDS} AS added), {_LAST})"
    last = note.groupBy(*map(ident, key)).agg(F.expr(newest).alias("newest"))
    texts = [*(f"newest.{name}" for name in names), f"1 AS {WEIGHT}"]
    failing = rows is not None and rows.failing
    error = [f"CAST(NULL AS {ERROR_TYPE}) AS {ERROR}"] if failing else []
    frame = last.where("newest.added").selectExpr(*texts, *error)
    if rows is not None:
        shown = [*names, WEIGHT, *([ERROR] if failing else [])]
        kept = keyed.anti_join(rows.frame.selectExpr(*shown), note, key, few=False)
        frame = kept.selectExpr(*shown).unionAll(frame)
    return Rows(frame, failing=failing, consolidated=True, inserts=True)


def readable(
    tables: Tables,
    obj: AnalysedObject,
    epoch: int,
    empty: Callable[[Schema], DataFrame],
) -> tuple[Schema, Callable[[], DataFrame]]:
    """Return the columns of `<view>__corrections`, and how to get its rows as of an epoch."""
    visible = obj.relation.visible
    own = {
        stored: Field(layout.companion_column(obj, name), type_) for stored, name, type_ in _SHOWN
    }
    schema = (*own.values(), *visible)

    def frame() -> DataFrame:
        rows = corrections(tables, obj)
        if rows is None:
            return empty(schema)
        texts = [f"{stored} AS {ident(f.name)}" for stored, f in own.items()]
        kept = rows.where(f"{EPOCH} <= {epoch}")
        return kept.selectExpr(*texts, *(ident(f.name) for f in visible))

    return schema, frame
