"""Volatile functions, and what makes one replay-stable.

`random()` and `gen_random_uuid()` are hashes of what identifies the row, so that evaluating the
same row again gives the same value; `RowSeed` says what that is. `clock_timestamp()` is the logged
time of the epoch that evaluates it. Without a `RowSeed`, as in a query on its own, every evaluation
gives another value.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from floodmark.scalar.functions.model import Determinism, Function
from floodmark.scalar.functions.xxhash64 import xxhash64
from floodmark.scalar.rendering import value_text
from floodmark.scalar.types import DOUBLE, TIMESTAMPTZ, UUID, SqlType

CLOCK = "clock_timestamp"
"""The volatile function whose value is a time: that of the epoch that evaluates it."""
NO_VALUE = "~"
"""Stands for NULL in the hashed text; a value is its length, a colon and its text."""


@dataclass(frozen=True, slots=True)
class RowSeed:
    """What a replay-stable value is a hash of, besides its place in the statement.

    Attributes:
        seed: the pipeline's seed text, logged once per warehouse.
        object: the key of the object whose plan evaluates the expression.
        key: the stream key of the operator's input: column names and types, in a fixed order.
        epoch: the BIGINT column with the epoch of the row's own last change (`__epoch`), never the
            current epoch's number; None where each key is written once.

    The hashed text joins seed, object, position, the key's values and the epoch. Each part is
    written as `length:text`, and NULL as `~`. The values are SQL text, with −0.0 as 0 and one NaN.
    """

    seed: str
    object: str
    key: tuple[tuple[str, SqlType], ...]
    epoch: str | None = None

    def prefix(self, position: int) -> str:
        """Return the part of the hashed text that is the same for all rows."""
        return "".join(map(prefix_length, (self.seed, self.object, str(position))))

    def text(self, position: int, row: Mapping[str, Any]) -> str:
        """Return the hashed text for a row; `row` holds the key columns and the epoch.

        >>> from floodmark.scalar.types import INT
        >>> RowSeed("s", "v", (("k", INT),), "__epoch").text(0, {"k": None, "__epoch": 12})
        '1:s1:v1:0~2:12'
        """
        parts = [self.prefix(position), *(_part(row[name], type_) for name, type_ in self.key)]
        if self.epoch is not None:
            parts.append(prefix_length(str(row[self.epoch])))
        return "".join(parts)


def prefix_length(text: str) -> str:
    """Return a text with its length before it, so that two texts never run into each other."""
    return f"{len(text)}:{text}"


def _part(value: Any, type_: SqlType) -> str:
    if value is None:
        return NO_VALUE
    return prefix_length(value_text(value + 0.0 if isinstance(value, float) else value, type_))


def replay(function: str, text: str, now: datetime | None) -> Any:
    """Return a volatile function's value for the text that identifies row and place.

    >>> replay("random", "1:s1:v1:0", None) == replay("random", "1:s1:v1:0", None)
    True
    """
    match function:
        case "random":
            return (xxhash64(text) >> 11) / (1 << 53)
        case "gen_random_uuid":
            high, low = xxhash64(text + "#1"), xxhash64(text + "#2")
            high = high & ~0xF000 | 0x4000
            low = low & ((1 << 62) - 1) | 1 << 63
            return str(uuid.UUID(int=high << 64 | low))
        case _:
            assert function == CLOCK and now is not None, function
            return now.replace(tzinfo=UTC) if now.tzinfo is None else now


def volatile() -> list[Function]:
    """Return the volatile functions; their forms here are those of a query on its own."""
    entries = (
        ("random", DOUBLE, "rand()", random.random),
        ("gen_random_uuid", UUID, "uuid()", lambda: str(uuid.uuid4())),
        (CLOCK, TIMESTAMPTZ, "current_timestamp()", lambda: datetime.now(UTC)),
    )
    return [
        Function(
            name, (), type_, spark, python,
            determinism=Determinism.VOLATILE, ingestion_stable=False,
        )
        for name, type_, spark, python in entries
    ]  # fmt: skip
