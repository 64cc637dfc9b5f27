"""Identity of a sink, and the errors of the operating system when it cannot write."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from floodmark.errors import FloodmarkError, OutOfReach
from floodmark.storage.warehouse import escape

UNREACHABLE = "E0741"
"""The code of a suspension that ends by itself once the path can be written to."""
_PROBE_BYTES = 2**16
_PROBE = ".floodmark-probe-"


@dataclass(frozen=True)
class SinkIdentity:
    """A sink's name and the seed of its warehouse, which distinguishes sinks of the same name."""

    name: str
    seed: str

    @property
    def file_name(self) -> str:
        """Return the name as files begin with it."""
        return escape(self.name)

    @property
    def app(self) -> str:
        """Return the application whose transactions in a Delta table are the sink's epochs."""
        return f"floodmark/{self.warehouse}/{self.name}"

    @property
    def warehouse(self) -> str:
        """Return an identifier of the warehouse that does not reveal its seed."""
        return sha256(f"sink:{self.seed}".encode()).hexdigest()[:16]


@contextmanager
def reaching(sink: str, path: Path) -> Iterator[None]:
    """Turn errors of the operating system into E0741."""
    try:
        yield
    except OSError as error:
        raise unreachable_error(sink, path, error.strerror or str(error)) from error
    except FloodmarkError as error:
        cause = error.__cause__
        if not isinstance(cause, OSError):
            raise
        raise unreachable_error(sink, path, cause.strerror or str(cause)) from cause


def check_permission(sink: str, path: Path) -> Path:
    """Return the folder that a path is or will be made in; E0741 where it takes no files."""
    place = path
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise unreachable_error(sink, path, f"{place} is no folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise unreachable_error(sink, path, f"no permission to write into {place}")
    return place


def probe(sink: str, path: Path) -> None:
    """Write and remove a small file at the place of a path; E0741 if that fails.

    A full disk, a quota or a network file system show only when something is written.
    """
    place = check_permission(sink, path)
    try:
        with reaching(sink, path):
            (place / f"{_PROBE}{secrets.token_hex(8)}").write_bytes(bytes(_PROBE_BYTES))
    finally:
        # With those that killed processes have left.
        for left in place.glob(f"{_PROBE}*"):
            with suppress(OSError):
                left.unlink()


def unreachable_error(
    sink: str,
    path: Path,
    why: str,
    remedy: str = "make the folder writable; one that exists goes on by itself, then",
) -> OutOfReach:
    """Return E0741: nothing can be written to the path now."""
    return OutOfReach(
        UNREACHABLE,
        f"the sink {sink} cannot write to {path}: {why}",
        hint=remedy,
    )
