"""One object, one epoch: compute its changes, write, commit; idempotent by (object, epoch)."""

from __future__ import annotations

import time
from dataclasses import replace

from floodmark.catalog.objects import ObjectKind
from floodmark.connectors.base import Connector
from floodmark.epochs.objects import external_sink, source, table, view
from floodmark.epochs.objects.object_advance import AdvanceInput, ObjectAdvance
from floodmark.price import open_bill
from floodmark.spark.session import Sessions
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.tables import Tables, Writer

__all__ = ["AdvanceInput", "advance_object"]


def advance_object(
    obj: AnalysedObject,
    advance_input: AdvanceInput,
    tables: Tables,
    sessions: Sessions,
    connector: Connector | None,
) -> ObjectRecord:
    """Advance an object to the epoch and return its record; done already, it is only read."""
    started = time.monotonic()
    record = advance_input.before.records.get(obj.key)
    pinned = {} if record is None else record.versions
    writer = Writer(
        tables, obj.object.storage_key, advance_input.epoch, advance_input.metadata, pinned
    )
    with open_bill() as bill:
        record = _advance(ObjectAdvance(obj, advance_input, tables, writer), sessions, connector)
    took = round(time.monotonic() - started, 3)
    return replace(record, duration_s=took, price=bill.total)


def _advance(
    advance: ObjectAdvance, sessions: Sessions, connector: Connector | None
) -> ObjectRecord:
    match advance.obj.kind:
        case ObjectKind.SOURCE if advance.obj.append_only:
            assert connector is not None
            return source.advance_source(advance, sessions, connector)
        case ObjectKind.SOURCE | ObjectKind.TABLE:
            return table.advance_table(advance, sessions, connector)
        case ObjectKind.SINK:
            return external_sink.advance_sink(advance)
        case _:
            return view.advance_view(advance)
