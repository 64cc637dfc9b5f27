"""The price of queries: each that a session sends is charged to the turn of its thread.

Bytes are those of the files that a query is given. What Spark has read of them it tells a client
of reading queries alone, and not always.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

from floodmark.price import Price, charge, charge_time, somebody_pays

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SENDS = ("execute_command", "to_table")
"""The methods of a Connect client that send a query and wait for its end: one writes, one reads."""
_NO_FILES = ("Expression", "DataType")
"""Parts of plans that name no files, by far the most."""


def charge_queries(session: SparkSession) -> None:
    """Charge what a session sends from now on; the server is asked nothing more."""
    client: Any = session.client
    for name in _SENDS:
        setattr(client, name, _charged(getattr(client, name)))


def _charged(send: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(send)
    def send_and_charge(plan: Any, *rest: Any, **options: Any) -> Any:
        if somebody_pays():
            charge(Price(bytes_read=sum(map(size_of, files_of(plan)))))
        with charge_time(_query_price):
            return send(plan, *rest, **options)

    return send_and_charge


def _query_price(seconds: float) -> Price:
    return Price(queries=1, query_s=seconds)


def files_of(plan: Any) -> Iterator[str]:
    """Yield the paths that a plan reads, one as often as the plan has it."""
    waiting = [plan]
    while waiting:
        message = waiting.pop()
        if message.DESCRIPTOR.name == "DataSource":
            yield from message.paths
            continue
        for field, value in message.ListFields():
            if _has_files(field):
                waiting += value if field.is_repeated else (value,)


@cache
def _has_files(field: Any) -> bool:
    """Tell whether a field of a plan can have files somewhere below it."""
    kind = field.message_type
    return not (kind is None or kind.name in _NO_FILES or kind.GetOptions().map_entry)


def size_of(path: str) -> int:
    """Return the bytes of a file; 0 where there is none here."""
    with suppress(OSError):
        return os.path.getsize(path)
    return 0
