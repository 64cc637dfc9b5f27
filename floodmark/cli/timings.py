"""What objects cost in the last epochs, from their seals: `floodmark status --timings`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from floodmark.cli.rendering import columns, size

if TYPE_CHECKING:
    from floodmark.storage.logs.epochs import EpochLog, ObjectRecord

NEWEST = 50
Timings = Mapping[str, Mapping[int, "ObjectRecord"]]
"""The records of each object, by the epochs that touched it, oldest first."""


def timings_of(log: EpochLog, newest: int = NEWEST) -> Timings:
    """Return what objects cost in the last epochs."""
    last = log.head().sealed
    out: dict[str, dict[int, ObjectRecord]] = {}
    for epoch in range(max(1, last - newest + 1), last + 1):
        for key, record in log.seal_record(epoch).objects.items():
            if record.touched:
                out.setdefault(key, {})[epoch] = record
    return out


def timings_table(timings: Timings) -> str:
    """Return a line per object, the dearest first: its last epoch, then means over its epochs."""
    taken = {key: list(records.values()) for key, records in timings.items()}
    spent = {key: sum(r.duration_s for r in records) for key, records in taken.items()}
    total = sum(spent.values()) or 1.0
    rows = [
        [key, str(len(taken[key])), f"{taken[key][-1].duration_s:.2f}", *_means(taken[key]),
         f"{100 * spent[key] / total:.0f} %"]
        for key in sorted(taken, key=lambda key: -spent[key])
    ]  # fmt: skip
    headers = ["object", "epochs", "last s", *_MEANS, "share"]
    return columns(headers, rows, right=headers[1:])


def timings_json(timings: Timings) -> dict[str, list[dict[str, Any]]]:
    """Return the price of each object in each epoch, for JSON."""
    return {
        key: [{"epoch": epoch, **price_json(record)} for epoch, record in records.items()]
        for key, records in timings.items()
    }


def price_json(record: ObjectRecord) -> dict[str, int | float]:
    """Return what one epoch cost an object, for JSON."""
    price = record.price
    return {
        "duration_s": record.duration_s,
        "plan_s": record.plan_s,
        "query_s": round(price.query_s, 3),
        "commit_s": round(price.commit_s, 3),
        "queries": price.queries,
        "bytes_read": price.bytes_read,
        "bytes_written": price.bytes_written,
    }


def _seconds(value: float) -> str:
    return f"{value:.2f}"


def _number(value: float) -> str:
    return f"{value:.1f}"


_MEANS: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "mean s": ("duration_s", _seconds),
    "plan s": ("plan_s", _seconds),
    "query s": ("query_s", _seconds),
    "commit s": ("commit_s", _seconds),
    "queries": ("queries", _number),
    "read": ("bytes_read", size),
    "written": ("bytes_written", size),
}
"""The columns with means: of what they are, and how it is shown."""


def _means(records: Sequence[ObjectRecord]) -> list[str]:
    prices = [price_json(record) for record in records]
    return [
        show(sum(price[name] for price in prices) / len(prices)) for name, show in _MEANS.values()
    ]
