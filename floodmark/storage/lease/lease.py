"""The lease: one writer per warehouse at a time, waiters first come, first served.

Safety rests on the commit check, not on the lease. Its implementation depends on the store: on a
local disk it uses file locks, which end with the process.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from floodmark.storage.durability import objects_of
from floodmark.storage.lease.holder import Holder
from floodmark.storage.lease.local import LocalLease
from floodmark.storage.objects.contract import Location
from floodmark.storage.warehouse import ENGINE, local_root

_FOLDER = "lease"


class Lease(Protocol):
    """The lease of one warehouse."""

    def hold(self, purpose: str, wait: float = 60.0) -> AbstractContextManager[None]:
        """Hold the lease for a block; after `wait` seconds a `TransientError` E0503."""

    def holder(self) -> Holder | None:
        """Return who holds the lease, or None."""


def lease_of(place: Location) -> Lease:
    """Return the lease of a warehouse; E0380 where that is not on a local disk."""
    return LocalLease(local_root(objects_of(place).place) / ENGINE / _FOLDER)
