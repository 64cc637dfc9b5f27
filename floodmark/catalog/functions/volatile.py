"""Volatile functions: each call may give another value, so that stored values stand for them."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime

from floodmark.catalog.functions.model import Determinism, Function
from floodmark.catalog.types import DOUBLE, TIMESTAMPTZ, UUID

_VOLATILE = Determinism.VOLATILE


def volatile() -> list[Function]:
    """Return the volatile functions."""
    return [
        Function(
            "random", (), DOUBLE, "rand()", random.random,
            determinism=_VOLATILE, ingestion_stable=False,
        ),
        Function(
            "gen_random_uuid", (), UUID, "uuid()", lambda: str(uuid.uuid4()),
            determinism=_VOLATILE, ingestion_stable=False,
        ),
        Function(
            "clock_timestamp", (), TIMESTAMPTZ, "current_timestamp()", lambda: datetime.now(UTC),
            determinism=_VOLATILE, ingestion_stable=False,
        ),
    ]  # fmt: skip
