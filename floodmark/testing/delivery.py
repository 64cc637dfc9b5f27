"""Rows of a test on their way into sources and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from floodmark.changelog import ROW_ID, WEIGHT, RowKind
from floodmark.dataflow.merge.merge import DML_ORDINAL
from floodmark.plan.declaration import Declaration
from floodmark.plan.expr.evaluate import evaluate
from floodmark.query.dml import PARTITION
from floodmark.scalar.types import BIGINT, INT, Field, Kind, Schema, SqlType
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.testing.messages import deliver_messages
from floodmark.testing.text import Line, TextRow, decode_rows

_ARROW: Mapping[Kind, pa.DataType] = {
    Kind.BOOLEAN: pa.bool_(), Kind.SMALLINT: pa.int16(), Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(), Kind.REAL: pa.float32(), Kind.DOUBLE: pa.float64(),
    Kind.VARCHAR: pa.string(), Kind.JSONB: pa.string(), Kind.UUID: pa.string(),
    Kind.DATE: pa.date32(), Kind.TIME: pa.int64(), Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
}  # fmt: skip


def deliver(target: AnalysedObject, lines: Sequence[Line], number: int) -> None:
    """Write rows as a file into the folder that a source or table reads; `number` orders files.

    Where messages are read, rows of every kind become messages; else only inserts can be delivered.
    """
    declared = target.declared
    assert declared is not None and declared.connector is not None
    if declared.is_messages:
        deliver_messages(declared, _decode(declared, lines), number)
        return
    other = next((line.kind.value for line in lines if line.kind is not RowKind.INSERT), None)
    if other is not None:
        raise ValueError(f"{target.name} has a connector: it takes +I rows, not {other}")
    rows = [values for _, values in _decode(declared, lines)]
    path = Path(dict(declared.options)["path"]) / f"{number:06}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(arrow_table(declared.physical, rows), path)


def log_rows(
    target: AnalysedObject, lines: Sequence[Line], path: Path, start: int, now: datetime
) -> dict[str, Any]:
    """Write rows of any kind as a DML statement does; return their entry in the epoch log.

    `start` counts the rows that statements have given the table before.
    """
    assert target.declared is not None
    changes = list(_drop_old_values(_decode(target.declared, lines), target.declared))
    rows = [(*_operation(row, target, start + i, now), i) for i, row in enumerate(changes)]
    extra = (Field(WEIGHT, INT), Field(DML_ORDINAL, BIGINT))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(arrow_table((*target.relation.columns, *extra), rows), path)
    return {"table": target.key, "paths": [str(path)], "rows": len(rows), "start": start}


def _decode(declared: Declaration, lines: Sequence[Line]) -> list[TextRow]:
    return decode_rows(lines, [f.type for f in declared.physical])


def _drop_old_values(changes: Sequence[TextRow], declared: Declaration) -> Iterator[TextRow]:
    """Yield the rows without the old ones of updates that leave the key as it is."""
    names = [f.name for f in declared.physical]
    places = [i for i, name in enumerate(names) if name in declared.primary_key]
    following = (*changes[1:], None)
    for change, after in zip(changes, following, strict=True):
        updates = change[0] is RowKind.UPDATE_BEFORE and after is not None and bool(places)
        if not (updates and after and all(change[1][i] == after[1][i] for i in places)):
            yield change


def _operation(
    change: TextRow, target: AnalysedObject, number: int, now: datetime
) -> tuple[Any, ...]:
    declared = target.declared
    assert declared is not None
    kind, values = change
    row = dict(zip((f.name for f in declared.physical), values, strict=True))
    for column in declared.columns:
        if column.generated is not None:
            row[column.name], _ = evaluate(column.generated, row, now)
    row[ROW_ID] = PARTITION << 47 | number
    weight = 1 if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
    return (*(row.get(f.name) for f in target.relation.columns), weight)


def arrow_table(schema: Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Return rows as an Arrow table of the types in which the engine keeps them."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(c, _arrow(f.type)) for c, f in zip(columns, schema, strict=True)]
    return pa.table(arrays, names=[f.name for f in schema])


def _arrow(type_: SqlType) -> pa.DataType:
    if type_.kind is Kind.NUMERIC:
        return pa.decimal128(type_.precision, type_.scale)
    if type_.kind not in _ARROW:
        raise ValueError(f"values of type {type_} cannot be written as text")
    return _ARROW[type_.kind]
