"""The rewrite of few current rows, in this process: as a Spark job it costs ten times as much.

It does to files what `operators.materialize.rewritten` does to frames.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from floodmark.catalog.types import Kind, Schema
from floodmark.changelog import EPOCH, KIND
from floodmark.storage.local_files import disk_errors
from floodmark.storage.table import DataFile

if TYPE_CHECKING:
    import pyarrow as pa

FEW_BYTES = 4 * 2**20
"""So much is rewritten here, in files as they are at rest; more is Spark's."""
_ADDED, _GONE = ("+I", "+U", "+S"), ("-U", "-D", "-S")
# Spark has one -0.0 and one NaN, and compares what is nested by its parts.
_COMPARED_BY_SPARK = (Kind.REAL, Kind.DOUBLE, Kind.INTERVAL, Kind.LIST, Kind.STRUCT, Kind.MAP)


def is_small(files: Sequence[DataFile], key: Schema) -> bool:
    """Tell whether files are few, and their keys compare here as they do in Spark."""
    exact = all(f.type.kind not in _COMPARED_BY_SPARK for f in key)
    return exact and sum(file.size for file in files) <= FEW_BYTES


def rewrite(
    touched: Sequence[str],
    changes: Sequence[str],
    columns: Sequence[str],
    key: Sequence[str],
    epoch: int,
    folder: Path,
) -> bool:
    """Write the rows of the touched files after the changes into `folder`, if there are any.

    `touched` and `changes` are paths. False, and nothing written, where files differ in the types
    of their columns.
    """
    import pyarrow as pa
    from pyarrow import parquet as pq

    stored = _read(touched, (*columns, EPOCH))
    changed = _read(changes, (*columns, KIND))
    if changed is None or (touched and stored is None):
        return False
    rows = _stamped(_of_kinds(changed, _ADDED).select(list(columns)), epoch)
    if stored is not None and key:
        if _types(stored) != _types(rows):
            return False
        kept = stored.filter(pa.array(~_among(stored, _of_kinds(changed, _GONE), key)))
        rows = pa.concat_tables([kept, rows])
    if rows.num_rows:
        with disk_errors(folder.parent.name):
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"part-00000-{secrets.token_hex(16)}.zstd.parquet"
            pq.write_table(rows, file, compression="zstd", write_statistics=_bounded(rows))
    return True


def _read(paths: Sequence[str], columns: Sequence[str]) -> pa.Table | None:
    """Return files as one table whose columns take NULLs, None where they are not alike."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    parts = []
    for path in paths:
        part = pq.ParquetFile(path).read(columns=list(columns))
        if set(part.column_names) != set(columns):
            return None
        part = part.select(list(columns))
        fields = [pa.field(f.name, f.type) for f in part.schema]
        parts.append(pa.Table.from_arrays(part.columns, schema=pa.schema(fields)))
    if not parts or any(_types(part) != _types(parts[0]) for part in parts):
        return None
    return pa.concat_tables(parts)


def _bounded(rows: pa.Table) -> list[str]:
    """Return the columns whose bounds hold: Arrow leaves NaN out, and Spark then skips its rows."""
    from pyarrow import types

    loose = types.is_floating, types.is_nested
    return [f.name for f in rows.schema if not any(test(f.type) for test in loose)]


def _types(rows: pa.Table) -> list[Any]:
    return [field.type for field in rows.schema]


def _of_kinds(changes: pa.Table, kinds: Sequence[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import compute as pc

    return changes.filter(pc.is_in(changes.column(KIND), value_set=pa.array(kinds)))


def _stamped(rows: pa.Table, epoch: int) -> pa.Table:
    import pyarrow as pa

    stamp = pa.repeat(pa.scalar(epoch, pa.int64()), rows.num_rows)
    return rows.append_column(pa.field(EPOCH, pa.int64()), stamp)


def _among(rows: pa.Table, others: pa.Table, key: Sequence[str]) -> Any:
    """Return, per row, whether its key is among those of other rows; NULL equals NULL."""
    import numpy as np
    import pyarrow as pa

    codes = np.zeros(rows.num_rows + others.num_rows, dtype=np.int64)
    for name in key:
        both = pa.concat_tables([rows.select([name]), others.select([name])])
        encoded = both.column(0).combine_chunks().dictionary_encode(null_encoding="encode")
        values = encoded.indices.to_numpy().astype(np.int64)
        # Numbered anew after each column, the codes stay below the number of rows.
        _, codes = np.unique(codes * len(encoded.dictionary) + values, return_inverse=True)
    return np.isin(codes[: rows.num_rows], codes[rows.num_rows :])
