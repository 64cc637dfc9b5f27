"""System tables: the contents of the epoch log as relations of the schema `floodmark`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from floodmark.changelog import is_hidden
from floodmark.epochs.backfill.progress import running_backfills
from floodmark.scalar.types import BIGINT, DOUBLE, TIMESTAMPTZ, VARCHAR, Field, Schema
from floodmark.session.inspect.watermark_blockers import watermark_blockers
from floodmark.storage.logs.object_record import lag_of
from floodmark.storage.warehouse import ROWS
from floodmark.stream.objects.analysed import Pipeline
from floodmark.warehouse.warehouse import Warehouse

ReadRows = Callable[[], list[tuple[Any, ...]]]

EPOCHS: Schema = (
    Field("epoch", BIGINT), Field("kind", VARCHAR), Field("state", VARCHAR),
    Field("now", TIMESTAMPTZ), Field("opened_at", TIMESTAMPTZ), Field("sealed_at", TIMESTAMPTZ),
    Field("catalog_version", BIGINT), Field("object", VARCHAR), Field("version", BIGINT),
    Field("rows_in", BIGINT), Field("rows_out", BIGINT), Field("late_rows", BIGINT),
    Field("dead_rows", BIGINT), Field("ignored_rows", BIGINT), Field("expired_rows", BIGINT),
    Field("dropped_rows", BIGINT), Field("timed_rows", BIGINT), Field("watermark", VARCHAR),
    Field("duration_s", DOUBLE),
)  # fmt: skip
OBJECTS: Schema = (
    Field("name", VARCHAR), Field("kind", VARCHAR), Field("state", VARCHAR),
    Field("origin", VARCHAR), Field("mode", VARCHAR), Field("stream_key", VARCHAR),
    Field("definition", VARCHAR),
)  # fmt: skip
WATERMARKS: Schema = (
    Field("object", VARCHAR), Field("column", VARCHAR), Field("watermark", VARCHAR),
    Field("lag_s", DOUBLE), Field("held_by", VARCHAR), Field("epoch", BIGINT),
)  # fmt: skip


def tables(warehouse: Warehouse, pipeline: Pipeline) -> dict[str, tuple[Schema, ReadRows]]:
    """Return the system tables by name, their rows computed when they are read."""
    return {
        "floodmark.epochs": (EPOCHS, lambda: _epochs(warehouse)),
        "floodmark.objects": (OBJECTS, lambda: _objects(warehouse, pipeline)),
        "floodmark.watermarks": (WATERMARKS, lambda: _watermarks(warehouse, pipeline)),
    }


def _epochs(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    log = warehouse.log
    last = log.head().sealed
    out: list[tuple[Any, ...]] = []
    for epoch in log.epochs(after=max(0, last - warehouse.limits.system_epochs)):
        if epoch > last:
            break
        opened, sealed = log.open_record(epoch), log.seal_record(epoch)
        for record in sealed.objects.values():
            version = next(
                (v for t, v in record.versions.items() if t.startswith(f"{ROWS}/")), None
            )
            out.append((
                epoch, opened.kind, "sealed", opened.now, opened.opened_at, sealed.sealed_at,
                opened.catalog_version, record.object, version, record.rows_in, record.rows_out,
                record.late_rows, record.dead_rows, record.ignored_rows, record.expired_rows,
                record.dropped_rows, record.timed_rows,
                watermark_text(record.watermarks), float(record.duration_s),
            ))  # fmt: skip
    return out


def _objects(warehouse: Warehouse, pipeline: Pipeline) -> list[tuple[Any, ...]]:
    states = dict.fromkeys(running_backfills(warehouse), "backfilling")
    states |= dict.fromkeys(warehouse.suspensions(), "suspended")
    return [
        (
            o.name, o.kind.value, states.get(o.key, "active"),
            o.object.origin.value, str(o.relation.mode),
            json.dumps([c.removeprefix("_") if is_hidden(c) else c for c in o.relation.stream_key]),
            o.object.text,
        )
        for o in pipeline.objects.values()
    ]  # fmt: skip


def _watermarks(warehouse: Warehouse, pipeline: Pipeline) -> list[tuple[Any, ...]]:
    """Return a row per column with a watermark, also before it has a value."""
    cut = warehouse.cut()
    if not cut.epoch:
        return []
    now, marks = (
        warehouse.log.open_record(cut.epoch).now,
        {k: cut.watermarks(k) for k in cut.records},
    )
    out: list[tuple[Any, ...]] = []
    for obj in (o for o in pipeline.writing_objects if o.key in cut.records):
        for column, _ in obj.relation.watermarks:
            value = marks[obj.key].get(column)
            lag = lag_of(value, now)
            holds = ", ".join(watermark_blockers(obj, column, pipeline, marks, now))
            text = None if value is None else _text(value)
            seconds = None if lag is None else lag.total_seconds()
            out.append((obj.key, column, text, seconds, holds or None, cut.epoch))
    return out


def watermark_text(watermarks: Any) -> str | None:
    """Return an object's first watermark as people read it."""
    return next((_text(value) for value in watermarks.values()), None)


def _text(value: Any) -> str:
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)
