"""A plugin of pytest that says which floodmark the tests have run."""

from __future__ import annotations

import pytest

import floodmark

SAYS = "floodmark comes from "


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print where the package lies."""
    terminalreporter.write_line(f"{SAYS}{floodmark.__file__}")
