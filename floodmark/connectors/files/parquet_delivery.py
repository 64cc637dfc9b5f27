"""Parquet files that can be stored as they are: Spark and Delta would have written the same rows.

No row of such a file is rewritten. A file is taken over whole or not at all. All of its pages are
decoded once here: a broken page, or text that is not UTF-8, is found where the file comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from floodmark.connectors.base import Split
from floodmark.limits import Limits
from floodmark.scalar.types import Field, Kind, Schema

_EXACT = {
    Kind.BOOLEAN: (pa.bool_(),),
    Kind.SMALLINT: (pa.int16(),),
    Kind.INT: (pa.int32(),),
    Kind.BIGINT: (pa.int64(),),
    Kind.DOUBLE: (pa.float64(),),
    Kind.VARCHAR: (pa.string(), pa.large_string(), pa.string_view()),
    Kind.DATE: (pa.date32(),),
    Kind.TIMESTAMP: (pa.timestamp("us"),),
    Kind.TIMESTAMPTZ: (pa.timestamp("us", "UTC"),),
}
"""Types that are at rest what they are in such a file; others are converted, or checked."""
_CODECS = frozenset({"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4_RAW"})
_ENCODINGS = frozenset(
    {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "DELTA_BINARY_PACKED"}
)


def storable(
    folder: Path, splits: Sequence[Split], schema: Schema, limits: Limits
) -> list[tuple[str, int]] | None:
    """Return path and first offset of each file, None where one cannot be stored as it is.

    None, too, of many small files: Spark writes their rows into few.
    """
    size = sum(split.payload.get("size", 0) for split in splits)
    if len(splits) > limits.delivered_files and size < len(splits) * limits.delivered_bytes:
        return None
    if any(not _is_whole(split) for split in splits):
        return None
    paths = [folder / split.payload["file"] for split in splits]
    with ThreadPoolExecutor(limits.delivered_threads) as pool:
        if not all(pool.map(lambda path: _is_plain(path, schema, limits), paths)):
            return None
    return [(str(path), split.start) for path, split in zip(paths, splits, strict=True)]


def _is_whole(split: Split) -> bool:
    payload = split.payload
    whole = payload.get("row") == 0 and payload.get("rows") == split.end - split.start
    return whole and not {"bad", "types", "rest"} & payload.keys()


def _is_plain(path: Path, schema: Schema, limits: Limits) -> bool:
    """Tell whether a file has just these columns, in ways that all readers know, and no damage."""
    try:
        file = pq.ParquetFile(path)
        found = {field.name: field.type for field in file.schema_arrow}
        same = len(found) == len(file.schema_arrow) == len(schema) and all(
            _is_exact(found.get(column.name), column) for column in schema
        )
        if not same or not _is_known(file.metadata):
            return False
        for batch in file.iter_batches(limits.delivered_piece, use_threads=False):
            batch.validate(full=True)
    except (pa.ArrowException, OSError):
        return False
    return True


def _is_exact(stored: pa.DataType | None, column: Field) -> bool:
    if column.type.kind is Kind.NUMERIC:
        precision, scale = column.type.precision, column.type.scale
        return bool(stored == pa.decimal128(precision or 38, scale if scale is not None else 10))
    return stored in _EXACT.get(column.type.kind, ())


def _is_known(footer: Any) -> bool:
    groups = (footer.row_group(i) for i in range(footer.num_row_groups))
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    return all(
        chunk.physical_type != "INT96"
        and chunk.compression in _CODECS
        and _ENCODINGS.issuperset(chunk.encodings)
        for chunk in chunks
    )
