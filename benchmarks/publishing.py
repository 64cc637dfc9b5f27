"""Where results go: JSON and plots under `results/`, and only what a quiet machine measured."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from benchmarks.measuring import machine

RESULTS = Path(__file__).parent / "results"
QUIET = 2.5
"""The load, as a mean over a minute, from which on nothing that is measured is kept."""


def is_quiet() -> bool:
    """Tell whether the machine has nothing else to do; to be asked before measuring."""
    return os.getloadavg()[0] < QUIET


def keep(name: str, found: dict[str, Any], plot: str | None = None, folder: Path = RESULTS) -> None:
    """Write `name.json`, with the machine, and `name.svg`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"machine": machine(), **found}, indent=2)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    if plot is not None:
        (folder / f"{name}.svg").write_text(plot, encoding="utf-8")
