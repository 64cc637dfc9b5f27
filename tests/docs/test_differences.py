"""docs/sql.md tells every difference from PostgreSQL that the oracle knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.postgres.known_differences import KNOWN, Known

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.told)
def test_the_page_of_the_language_tells_it(known: Known) -> None:
    page = re.sub(r"\s+", " ", PAGE.read_text())
    assert known.told in page
