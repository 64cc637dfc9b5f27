"""Faults of logged files that appear only when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from floodmark.connectors.base import Split
from floodmark.connectors.files.discovery import file_change


def mark_unreadable(
    folder: Path, splits: Sequence[Split], *, parquet: bool, changed: bool
) -> tuple[Split, ...]:
    """Return the splits, those of files that cannot be read to their end marked as bad.

    With `changed` that goes for files that are gone or are not the logged ones, too.
    """
    reasons: dict[str, str | None] = {}
    out = []
    for split in splits:
        file = str(split.payload["file"])
        if "bad" not in split.payload and file not in reasons:
            other = file_change(folder, split)
            if other is not None:
                reasons[file] = other if changed else None
            else:
                reasons[file] = _read_failure(folder / file, parquet=parquet)
        reason = reasons.get(file)
        out.append(split if reason is None else _bad(split, reason))
    return tuple(out)


def _bad(split: Split, reason: str) -> Split:
    return replace(split, payload={**split.payload, "bad": reason})


def _read_failure(path: Path, *, parquet: bool) -> str | None:
    """Say why a file cannot be read, having read all of it; None where it can."""
    try:
        if parquet:
            _read_pages(path)
        else:
            with path.open("rb") as file:
                file.read(1)
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        return f"{path} cannot be read: {reason}"
    return None


def _read_pages(path: Path) -> None:
    import pyarrow.parquet as pq  # loads pyarrow: only where needed

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            for name, values in zip(batch.schema.names, batch.columns, strict=True):
                try:
                    values.validate(full=True)
                    _check_times(values)
                except ValueError as error:
                    raise ValueError(f"column {name}: {error}") from error


def _check_times(values: Any) -> None:
    """Raise `ValueError` for a time, at any depth, that no number of microseconds counts.

    Spark counts them: such a time ends its whole task.
    """
    import pyarrow as pa

    types = pa.types
    match values.type:
        case type_ if types.is_timestamp(type_):
            if type_.unit in ("s", "ms"):
                values.cast(pa.timestamp("us", type_.tz))
        case type_ if types.is_map(type_):
            _check_times(values.keys)
            _check_times(values.items)
        case type_ if types.is_struct(type_):
            for part in values.flatten():
                _check_times(part)
        case type_ if types.is_list(type_) or types.is_large_list(type_):
            _check_times(values.flatten())
