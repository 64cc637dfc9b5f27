"""Check that the epochs written outside are of this log, and not of another one that was ahead.

Everything written outside names the record of its epoch. A warehouse that was restored from a
backup opens new epochs with the numbers of those that it has lost.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from floodmark.errors import DataError

Records = Callable[[int], str | None]
"""Returns the id of the record of an epoch of the log; None where a former version wrote it."""


def unknown(epoch: int) -> str | None:
    """Return no id, for logs whose records have none."""
    return None


def refuse_other_log(
    sink: str, place: Path, what: str, number: int, epoch: int, remedy: str
) -> NoReturn:
    """Raise E0745 for a place outside that has an epoch by another record than the log's."""
    raise DataError(
        "E0745",
        f"the {what} {place} of the sink {sink} has an epoch {number} that is not of this log, "
        f"which is at epoch {epoch}",
        hint=f"{remedy} and resume the sink; or drop the sink and create it with another path",
    )
