"""The price of an object's turn in an epoch, counted where it arises.

What sends a query or commits files charges the turn that its thread is in. So objects that advance
side by side are counted apart, and nothing has to be passed along.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """What a turn has cost.

    `queries` were sent to Spark. `bytes_read` is the size of the files that they, and this process,
    were given to read. `bytes_written` is that of the data files that were written, those for a
    next query of the same turn included. `query_s` seconds went by in queries, those that this
    process computed included, `commit_s` in looking at written files and in commits.
    """

    queries: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    query_s: float = 0.0
    commit_s: float = 0.0

    def __add__(self, other: Price) -> Price:
        """Return the price of both, in whole microseconds."""
        both = zip(astuple(self), astuple(other), strict=True)
        return Price(*(round(one + more, 6) for one, more in both))


@dataclass(slots=True)
class Bill:
    """What a turn has been charged so far; of one thread."""

    total: Price = Price()


_bill: ContextVar[Bill | None] = ContextVar("bill", default=None)


@contextmanager
def open_bill() -> Iterator[Bill]:
    """Charge what this thread does in the block to a bill of its own."""
    bill = Bill()
    before = _bill.set(bill)
    try:
        yield bill
    finally:
        _bill.reset(before)


def somebody_pays() -> bool:
    """Tell whether this thread is in a turn: otherwise nothing needs to be counted."""
    return _bill.get() is not None


def charge(price: Price) -> None:
    """Add to the bill of the turn that this thread is in; outside of one nobody pays."""
    bill = _bill.get()
    if bill is not None:
        bill.total += price


@contextmanager
def charge_time(price_of: Callable[[float], Price]) -> Iterator[None]:
    """Charge the price of the seconds that the block takes."""
    started = time.monotonic()
    try:
        yield
    finally:
        charge(price_of(time.monotonic() - started))
