"""Unreachable sinks: they are tried again automatically after a pause."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from floodmark.connectors.registry import sender_of
from floodmark.connectors.sinks.identity import UNREACHABLE, probe
from floodmark.errors import FloodmarkError
from floodmark.limits import Limits
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.warehouse.warehouse import Warehouse


def retry_pause(tries: int, limits: Limits) -> timedelta:
    """Return the pause of a sink after a number of failures in a row.

    >>> [retry_pause(tries, Limits()).seconds for tries in (1, 2, 3, 4, 20)]
    [0, 30, 60, 120, 3600]
    """
    if tries < 2:
        return timedelta(0)
    seconds = limits.sink_pause_seconds << min(tries - 2, 16)
    return timedelta(seconds=min(seconds, limits.sink_longest_pause_seconds))


class UnreachableSinks:
    """The sinks of a warehouse that were unreachable when they last wrote.

    Remembers which of them this process has tried.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._tried = set[str]()

    def keys(self) -> frozenset[str]:
        """Return them."""
        events = self._warehouse.log.suspensions().items()
        return frozenset(key for key, event in events if event.code == UNREACHABLE)

    def reachable(self, keys: Collection[str] | None = None) -> list[str]:
        """Return those, of `keys` or all, that seem to be reachable again.

        One that this process has tried in vain, or any without `keys`, rests for a while before.
        Those of `keys` are written to; without, nothing is written.
        """
        now, out = self._warehouse.clock.now(), []
        for key, event in self._warehouse.log.suspensions().items():
            if event.code != UNREACHABLE or (keys is not None and key not in keys):
                continue
            rests = keys is None or key in self._tried
            if not rests or now >= event.at + retry_pause(event.tries, self._warehouse.limits):
                out.append(key)
        if not out:
            return []
        objects = self._warehouse.deployed().pipeline.objects
        writes = keys is not None
        sinks = [k for k in sorted(out) if k in objects and objects[k].external_sink is not None]
        return [k for k in sinks if self._can_write(objects[k], writes)]

    def _can_write(self, sink: AnalysedObject, writes: bool) -> bool:
        assert sink.external_sink is not None
        try:
            sender_of(sink, self._warehouse.seed, self._warehouse.limits).check()
            if writes:
                probe(sink.name, sink.external_sink.path)
        except FloodmarkError:
            return False
        return True

    def lift(self, keys: Collection[str]) -> bool:
        """End the suspensions of some that can write again; tell whether there are any."""
        reachable = self.reachable(keys)
        self._tried.update(reachable)
        for key in reachable:
            said = "its path can be written to again"
            self._warehouse.log.record("resume", self._warehouse.clock.now(), said, object=key)
        return bool(reachable)
