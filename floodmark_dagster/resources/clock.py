"""The engine's clock for Dagster: the machine's, or a fixed time for tests and replays."""

from __future__ import annotations

from datetime import UTC, datetime

from dagster import ConfigurableResource
from pydantic import Field


class EngineClock(ConfigurableResource):
    """Where the epochs' `now` comes from."""

    fixed: str | None = Field(
        default=None, description="An ISO 8601 time with time zone that stands still"
    )

    @property
    def is_machines(self) -> bool:
        """Tell whether the time is the machine's, which may be wrong."""
        return self.fixed is None

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""
        if self.fixed is None:
            return datetime.now(UTC)
        return datetime.fromisoformat(self.fixed).astimezone(UTC)
