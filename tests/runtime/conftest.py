"""What the tests of the whole engine share."""

from __future__ import annotations

from pathlib import Path

import pytest
from warehouses import Site

from floodmark.spark.session import Sessions


@pytest.fixture
def site(tmp_path: Path, sessions: Sessions) -> Site:
    """Return an empty site."""
    return Site(tmp_path, sessions)
