"""A plugin of pytest that says which floodmark the tests have run, and looks for any failure."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings

import floodmark

SAYS = "floodmark comes from "
# Hypothesis need not look for a shorter example: that takes minutes.
settings.register_profile("planted", phases=[Phase.explicit, Phase.generate])
settings.load_profile("planted")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print where the package lies."""
    terminalreporter.write_line(f"{SAYS}{floodmark.__file__}")
