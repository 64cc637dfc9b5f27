"""Imported files: delivered Parquet files that became table files unchanged.

They lack the row id and the epoch of their rows. Both follow from the path, of two folders below
the table's: `floodmark__epoch=…` and `floodmark__first=…`, the row id of the file's first row; the
others count on from it in the order of the file. Readers that know partitions by such names find
both as columns.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from floodmark.changelog import EPOCH, ROW_ID
from floodmark.storage.table import DataFile

if TYPE_CHECKING:
    import pyarrow as pa

EPOCH_PART, FIRST_PART = "floodmark__epoch", "floodmark__first"
_PLACE = re.compile(rf"(.*/)?{EPOCH_PART}=(\d+)/{FIRST_PART}=(\d+)/[^/]*")


def folder_of(epoch: int, first: int) -> str:
    """Return the folder of a file, relative to the table's."""
    return f"{EPOCH_PART}={epoch}/{FIRST_PART}={first}"


def is_delivered(file: DataFile) -> bool:
    """Tell whether a file was taken over as it was delivered."""
    return _PLACE.fullmatch(file.path) is not None


def with_epoch(rows: pa.Table, file: DataFile) -> pa.Table:
    """Return rows that were read from a file, with their epoch if the file lacks it."""
    match = _PLACE.fullmatch(file.path)
    if match is None:
        return rows
    import pyarrow as pa

    return rows.append_column(EPOCH, pa.repeat(pa.scalar(int(match[2]), pa.int64()), len(rows)))


def table_folder(path: str) -> str:
    """Return the folder of the table that a file of an absolute path is in."""
    match = _PLACE.fullmatch(path)
    assert match is not None, path
    return match[1]


def with_bounds(file: DataFile) -> DataFile:
    """Return the file with what its path says of its rows, if it was taken over."""
    match = _PLACE.fullmatch(file.path)
    if match is None or not file.rows:
        return file
    epoch, first = int(match[2]), int(match[3])
    low = {**file.low, EPOCH: epoch, ROW_ID: first}
    high = {**file.high, EPOCH: epoch, ROW_ID: first + file.rows - 1}
    return replace(file, low=low, high=high, nulls={**file.nulls, EPOCH: 0, ROW_ID: 0})
