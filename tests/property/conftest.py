"""Random programs run as users' queries do."""

from __future__ import annotations

import pytest

from floodmark.spark.session import Sessions


@pytest.fixture(scope="session")
def sessions(compiling_sessions: Sessions) -> Sessions:
    """Return sessions whose queries are compiled."""
    return compiling_sessions
