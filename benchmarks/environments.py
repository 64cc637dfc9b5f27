"""Environments of their own for packages of PyPI that the project does not depend on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def python_with(environment: Path, there: str, *wanted: str) -> Path:
    """Return the Python of an environment with packages.

    They are installed unless something fits the pattern `there`: what is installed last.
    """
    python, uv = environment / "bin" / "python", Path(sys.executable).with_name("uv")
    if not any(environment.glob(there)):
        shutil.rmtree(environment, ignore_errors=True)
        subprocess.run([uv, "venv", "-q", "--python", "3.11", environment], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", python, *wanted], check=True)
    return python
