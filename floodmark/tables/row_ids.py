"""The ids of rows that statements write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from floodmark.changelog import ROW_ID
from floodmark.storage.table import DataFile

PARTITION = 65_535
"""The source partition that stands for DML in row ids."""


def first_row_id(start: int) -> int:
    """Return the row id of the row that statements number `start`."""
    return PARTITION << 47 | start


def are_fresh(item: Mapping[str, Any], files: Sequence[DataFile]) -> bool:
    """Tell whether the rows of a logged statement have row ids that it gave to new rows."""
    mine = [file for file in files if file.path in item["paths"]]
    return all(file.low.get(ROW_ID, -1) >= first_row_id(int(item["start"])) for file in mine)
