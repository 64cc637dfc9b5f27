"""Changelogs: rows with a kind, and the column names that belong to the engine."""

from __future__ import annotations

from enum import Enum, IntEnum

EPOCH = "__epoch"
"""BIGINT: the epoch that wrote the row."""
KIND = "__kind"
"""STRING in a changes table: one of `+I -U +U -D`."""
ADDED, GONE = ("+I", "+U", "+S"), ("-U", "-D", "-S")
"""Kinds of rows that are there after a change, and before it; S: accumulators alone, never seen."""
WEIGHT = "__weight"
"""INT inside an epoch's computation: +1 for a row that appears, -1 for one that goes."""
ROW_ID = "__row_id"
"""BIGINT: partition ordinal (16 bits) and offset ordinal (47 bits) of a row without a key."""
ERROR = "__error"
"""INT inside an epoch's computation: why the row goes to the dead letters, or NULL."""
OWNERS = "__owners"
"""ARRAY of VARCHAR in a table whose columns sinks own: those that hold the row; NULL: all of it is
held."""
HIDDEN_PREFIX = "__"
UNION_KEY = "__union_key_"
"""Prefix of the hidden columns that hold, as text, the keys of a union's unlike branches."""
LEFT_ROW = "__left_row"
"""Prefix of hidden columns: TRUE in a full join's rows with a left row, NULL in the padded ones."""


def is_hidden(column: str) -> bool:
    """Tell whether a column belongs to the engine.

    >>> is_hidden("__row_id"), is_hidden("price")
    (True, False)
    """
    return column.startswith(HIDDEN_PREFIX)


class RowKind(Enum):
    """What a changelog row says about its row."""

    INSERT = "+I"
    UPDATE_BEFORE = "-U"
    UPDATE_AFTER = "+U"
    DELETE = "-D"

    @property
    def weight(self) -> int:
        """Return +1 when the row appears and -1 when it goes."""
        return 1 if self in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1


class ChangelogMode(IntEnum):
    """What an edge of a plan can carry; the worse of two is the larger."""

    APPEND_ONLY = 0
    RETRACT = 1

    def __str__(self) -> str:
        return self.name.lower().replace("_", "-")

    @staticmethod
    def worst(*modes: ChangelogMode) -> ChangelogMode:
        """Return the mode that covers all of them.

        >>> str(ChangelogMode.worst(ChangelogMode.APPEND_ONLY, ChangelogMode.RETRACT))
        'retract'
        """
        return max(modes, default=ChangelogMode.APPEND_ONLY)
