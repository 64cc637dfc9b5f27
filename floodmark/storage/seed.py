"""The warehouse's seed: what makes its random values differ from those of another warehouse."""

from __future__ import annotations

import secrets
from pathlib import Path

from floodmark.storage.record_files import RecordFiles

NAME = "seed"


def pipeline_seed(root: str | Path) -> str:
    """Return the seed of a warehouse; it is drawn once, by whoever asks first."""
    files = RecordFiles(root, "", "the seed of the warehouse")
    found = _read(files)
    if found is None:
        files.put(NAME, {"seed": secrets.token_hex(8)})
        found = _read(files)
    assert found is not None
    return found


def _read(files: RecordFiles) -> str | None:
    """Return the seed; former versions wrote it as it is, which is no JSON of an object."""
    try:
        text = (files.folder / NAME).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    return text if text and not text.startswith("{") else str(files.body(NAME)["seed"])
