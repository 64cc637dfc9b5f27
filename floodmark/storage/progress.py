"""Progress callbacks of long operations."""

from __future__ import annotations

from collections.abc import Callable

ReportProgress = Callable[[str, int, int], None]
"""Is told the name of the table or file that is dealt with, its number from 1, and of how many."""
