"""What says that a landing folder is complete; reading it loads nothing."""

from __future__ import annotations

import json
from pathlib import Path

FORM = 1
"""Raised when the files change, so that folders of an older form are written again."""
MANIFEST = "_manifest.json"


def rows_written(out: Path, months: int) -> dict[str, int] | None:
    """Return the rows per stream of a folder with exactly these months, None if it is another."""
    manifest = out / MANIFEST
    if not manifest.exists():
        return None
    found = json.loads(manifest.read_text())
    same = found.items() >= _form(months).items()
    return dict(found["rows"]) if same else None


def write_manifest(out: Path, months: int, rows: dict[str, int]) -> None:
    """Note that the folder is complete, with the rows per stream."""
    text = json.dumps({**_form(months), "rows": rows}, indent=1)
    (out / MANIFEST).write_text(text + "\n")


def _form(months: int) -> dict[str, int]:
    return {"form": FORM, "months": months}
