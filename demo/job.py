"""Runs a Dagster command and ends with it: `python -m demo.job job execute -f … -j …`.

A Spark client's threads can keep a finished process waiting; the demo does not wait for them.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run Dagster's command line on this process' arguments."""
    from dagster._cli import main as dagster

    code = 0
    try:
        dagster()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
