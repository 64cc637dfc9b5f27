"""Named points at which a test can kill the process; inert unless the environment arms one.

`FLOODMARK_FAILPOINT=name` (or `name:3` for its third time) ends the process with SIGKILL there,
as a power cut would.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import Final

VARIABLE: Final = "FLOODMARK_FAILPOINT"

NAMES: Final = (
    "lease_taken",
    "offsets_chosen",
    "offsets_logged",
    "first_object_done",
    "files_written",
    "first_table_committed",
    "state_committed",
    "view_committed",
    "sink_committed",
    "dead_letter_committed",
    "published",
    "before_seal",
    "after_seal",
)
"""In the order in which an epoch passes them."""

OF_CHANGES: Final = ("change_planned", "change_logged", "table_emptied", "table_dropped")
"""In the order in which a change of the definitions passes them, besides those of its epoch."""

OF_SEPARATION: Final = ("record_renewed", "rows_linked", "rows_separated")
"""In the order in which the rows of a former warehouse get a log apart."""

OF_ROLLBACKS: Final = ("change_taken_back", "epoch_undone", "columns_restored")
"""In the order in which definitions that cannot be applied are taken back."""

OF_BACKFILLS: Final = ("backfill_step_logged", "backfill_step_done", "backfill_ready")
"""In the order in which the backfill of a view passes them, besides those of its tables."""

OF_SINKS: Final = (
    "outgoing_stored",
    "outside_written",
    "outside_part_in_place",
    "outside_in_place",
    "sent_committed",
)
"""In the order in which a sink to the outside passes them, besides those of its tables."""

_counts: Counter[str] = Counter()


def reach(name: str) -> None:
    """Die here if this is the armed point."""
    armed = os.environ.get(VARIABLE)
    if armed is None:
        return
    wanted, _, count = armed.partition(":")
    if wanted != name:
        return
    _counts[name] += 1
    if _counts[name] >= int(count or "1"):
        os.kill(os.getpid(), signal.SIGKILL)
