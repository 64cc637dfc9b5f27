"""Files that were logged and turn out, when they are read, not to be readable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from floodmark.connectors.base import Split
from floodmark.connectors.files_discovery import changed_since


def marked(
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
            other = changed_since(folder, split)
            if other is not None:
                reasons[file] = other if changed else None
            else:
                reasons[file] = _broken(folder / file, parquet=parquet)
        reason = reasons.get(file)
        out.append(split if reason is None else _bad(split, reason))
    return tuple(out)


def _bad(split: Split, reason: str) -> Split:
    return replace(split, payload={**split.payload, "bad": reason})


def _broken(path: Path, *, parquet: bool) -> str | None:
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
    import pyarrow as pa  # only where needed
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            for name, values in zip(batch.schema.names, batch.columns, strict=True):
                try:
                    values.validate(full=True)
                    if pa.types.is_timestamp(values.type):
                        # Spark counts microseconds: what is beyond them ends its whole task.
                        micros = pa.timestamp("us", values.type.tz)
                        values.cast(micros, safe=values.type.unit != "ns")
                except ValueError as error:
                    raise ValueError(f"column {name}: {error}") from error
