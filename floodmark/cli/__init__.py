"""The command line, a file per command; see `floodmark --help`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    from floodmark.cli.app import invoke

    sys.exit(invoke(sys.argv[1:]))
