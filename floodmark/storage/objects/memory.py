"""Objects in memory, with faults on request, for tests.

A lost request changes nothing, and a lost answer comes after the change. The caller cannot
distinguish them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from floodmark.storage.objects.contract import (
    Exists,
    ObjectHead,
    Objects,
    Stale,
    Unavailable,
    check_key,
    check_prefix,
)

Fault = Literal["refused", "lost request", "lost answer"]


@dataclass(frozen=True, slots=True)
class _Object:
    data: bytes
    number: int


@dataclass(slots=True)
class _Bucket:
    """What all views of one store share."""

    objects: dict[str, _Object] = field(default_factory=dict)
    locks: dict[str, threading.Lock] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    writes: int = 0
    calls: list[str] = field(default_factory=list)
    faults: dict[int, Fault] = field(default_factory=dict)


class MemoryObjects(Objects):
    """Objects in memory; safe to share between threads."""

    def __init__(self, bucket: _Bucket | None = None, folder: str = "") -> None:
        self._bucket = _Bucket() if bucket is None else bucket
        self._start = f"{folder}/" if folder else ""

    @property
    def calls(self) -> Sequence[str]:
        """Return the names of the calls so far that went to the store."""
        return self._bucket.calls

    def fail_at(self, n: int, fault: Fault) -> None:
        """Let the n-th call from now (1 is the next) fail."""
        self._bucket.faults[len(self.calls) + n] = fault

    @property
    def place(self) -> str:
        """See `Objects.place`."""
        return f"memory:/{self._start}".rstrip("/")

    def sub_objects(self, folder: str) -> MemoryObjects:
        """See `Objects.sub_objects`."""
        return MemoryObjects(self._bucket, self._key(folder))

    def get(self, key: str, start: int = 0, end: int | None = None) -> tuple[bytes, str] | None:
        """See `Objects.get`."""
        with self._answer_call("get", self._key(key)) as place:
            held_object = self._bucket.objects.get(place)
        return (
            None if held_object is None else (held_object.data[start:end], str(held_object.number))
        )

    def head(self, key: str) -> ObjectHead | None:
        """See `Objects.head`."""
        with self._answer_call("head", self._key(key)) as place:
            held_object = self._bucket.objects.get(place)
        return None if held_object is None else _head(held_object)

    def create(self, key: str, data: bytes) -> str | Exists:
        """See `Objects.create`."""
        with self._answer_call("create", self._key(key)) as place:
            return Exists(key) if place in self._bucket.objects else self._write(place, data)

    def replace(self, key: str, data: bytes, tag: str) -> str | Stale:
        """See `Objects.replace`."""
        with self._answer_call("replace", self._key(key)) as place:
            held_object = self._bucket.objects.get(place)
            if held_object is None or str(held_object.number) != tag:
                return Stale(key)
            return self._write(place, data)

    def list(self, prefix: str = "", after: str = "", *, deep: bool = True) -> Iterator[str]:
        """See `Objects.list`."""
        start = self._start + check_prefix(prefix)
        with self._answer_call("list", start):
            places = sorted(place for place in self._bucket.objects if place.startswith(start))
        keys = (place.removeprefix(self._start) for place in places)
        found = keys if deep else dict.fromkeys(_shallow(key, len(prefix)) for key in keys)
        yield from (key for key in found if key > after)

    def heads(self, prefix: str = "") -> Iterator[tuple[str, ObjectHead]]:
        """See `Objects.heads`."""
        start = self._start + check_prefix(prefix)
        with self._answer_call("heads", start):
            found = sorted((p, o) for p, o in self._bucket.objects.items() if p.startswith(start))
        for place, held in found:
            yield place.removeprefix(self._start), _head(held)

    def last_write(self, folder: str) -> int | None:
        """See `Objects.last_write`."""
        return max((head.modified for _, head in self.heads(f"{folder}/")), default=None)

    def make(self) -> None:
        """See `Objects.make`: there are no folders."""

    def upload(self, key: str, path: Path) -> str:
        """See `Objects.upload`."""
        data = path.read_bytes()
        with self._answer_call("upload", self._key(key)) as place:
            return self._write(place, data)

    def copy(self, source: str, key: str) -> str:
        """See `Objects.copy`."""
        with self._answer_call("copy", self._key(key)) as place:
            held_object = self._bucket.objects.get(self._key(source))
            if held_object is None:
                raise FileNotFoundError(2, "No such object", self.spark_url(source))
            return self._write(place, held_object.data)

    def move(self, source: str, key: str) -> None:
        """See `Objects.move`."""
        self.copy(source, key)
        self.delete([source])

    def delete(self, keys: Iterable[str]) -> None:
        """See `Objects.delete`."""
        places = [self._key(key) for key in keys]
        with self._answer_call("delete", *places):
            for place in places:
                self._bucket.objects.pop(place, None)

    def remove(self, folder: str, aside: str = "") -> None:
        """See `Objects.remove`."""
        self.delete(tuple(self.list(f"{folder}/")))

    def prune(self, folder: str = "") -> None:
        """See `Objects.prune`: there are no folders."""

    def flush(self, keys: Iterable[str]) -> None:
        """See `Objects.flush`: nothing here outlives anything."""

    @contextmanager
    def lock(self, key: str, *, wait: bool = True) -> Iterator[bool]:
        """See `Objects.lock`."""
        with self._bucket.lock:
            lock = self._bucket.locks.setdefault(self._key(key), threading.Lock())
        mine = lock.acquire(blocking=wait)
        try:
            yield mine
        finally:
            if mine:
                lock.release()

    def spark_url(self, key: str) -> str:
        """See `Objects.spark_url`."""
        return f"memory:/{self._key(key)}"

    def _key(self, key: str) -> str:
        return self._start + check_key(key)

    def _write(self, place: str, data: bytes) -> str:
        self._bucket.writes += 1
        self._bucket.objects[place] = _Object(data, self._bucket.writes)
        return str(self._bucket.writes)

    @contextmanager
    def _answer_call(self, call: str, *places: str) -> Iterator[str]:
        """Give the first of some places to a call, which may be one that fails."""
        place = next(iter(places), self._start)
        with self._bucket.lock:
            self._bucket.calls.append(call)
            fault = self._bucket.faults.pop(len(self.calls), None)
            if fault is None or fault == "lost answer":
                yield place
            if fault is not None:
                why = f"the call {call} (number {len(self.calls)}) fails as it was told to"
                raise Unavailable(why, f"memory:/{place}", maybe_done=fault != "refused")


def _head(held_object: _Object) -> ObjectHead:
    return ObjectHead(len(held_object.data), str(held_object.number), held_object.number)


def _shallow(key: str, length: int) -> str:
    """Return a key up to the first `/` after some of its beginning."""
    head, slash, _ = key[length:].partition("/")
    return f"{key[:length]}{head}{slash}"
