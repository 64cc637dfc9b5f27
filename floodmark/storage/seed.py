"""The warehouse's seed: what makes its random values differ from those of another warehouse."""

from __future__ import annotations

import secrets
from pathlib import Path

from floodmark.storage.local_files import disk_errors, put_if_absent
from floodmark.storage.warehouse import engine_folder

NAME = "seed"


def pipeline_seed(root: str | Path) -> str:
    """Return the seed of a warehouse; it is drawn once, by whoever asks first."""
    path = engine_folder(root) / NAME
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        pass
    with disk_errors("the seed of the warehouse"):
        path.parent.mkdir(parents=True, exist_ok=True)
        put_if_absent(path, secrets.token_hex(8))
    return path.read_text(encoding="utf-8")
