"""Whether small queries are computed in the engine's process: an environment variable says it."""

from __future__ import annotations

import os

from floodmark.errors import UserError
from floodmark.scalar.casts import truth_of

VARIABLE = "FLOODMARK_IN_PROCESS"
"""`true`, the default, or `false`."""


def is_wanted() -> bool:
    """Tell whether anything is to be computed here; E0452 for an unknown value."""
    text = os.environ.get(VARIABLE, "true")
    if (wanted := truth_of(text)) is None:
        raise UserError(
            "E0452", f"{VARIABLE} is {text!r}", hint=f"{VARIABLE}=true or {VARIABLE}=false"
        )
    return wanted
