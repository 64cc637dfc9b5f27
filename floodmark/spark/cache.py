"""Where Floodmark keeps what it can rebuild: jars, class archives, server files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

CACHE_VARIABLE = "FLOODMARK_CACHE"


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the cache folder, created and readable by its owner only.

    It is `$FLOODMARK_CACHE` or `~/.cache/floodmark`, and must be on a local disk: it holds locks.
    """
    chosen = environ.get(CACHE_VARIABLE)
    folder = Path(chosen) if chosen else Path.home() / ".cache" / "floodmark"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder.resolve()
