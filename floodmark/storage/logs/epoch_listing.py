"""Listing of epoch records by file names alone; it finds gaps without reading records.

`epochs/<epoch // 1000>/` holds, per epoch, `<epoch>.open.json`, `<epoch>.seal.json` and numbered
additions. Epochs follow each other, and so do the additions of a kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from floodmark.errors import DataError
from floodmark.limits import LIMITS
from floodmark.storage.logs.record_files import RecordFiles, raise_missing, refuse_gaps

BUCKET = 1000
"""How many epochs a folder has."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The records in the folder of one bucket: of epochs, and of what was added to each.

    `added` has the numbers of additions, by epoch and kind.
    """

    opened: frozenset[int]
    sealed: frozenset[int]
    added: Mapping[tuple[str, str], Sequence[int]]

    @property
    def last(self) -> int:
        """Return the newest epoch; 0 where there is none."""
        return max(self.opened, default=0)

    def check(self, bucket: int, folder: str, *, full: bool) -> None:
        """Raise E0431 where a record is missing between others; a `full` bucket has all."""
        first = max(bucket * BUCKET, 1)
        refuse_gaps(self.opened, first, "epoch", folder)
        refuse_gaps(self.sealed, first, "the seal of epoch", folder)
        last = max(self.opened, default=first - 1)
        newest = max(self.sealed, default=first - 1)
        if newest > last:
            raise_missing(f"epoch {newest}", "its seal is there", folder)
        if newest < last - 1:
            raise_missing(f"the seal of epoch {newest + 1}", f"epoch {last} is there", folder)
        if full and newest < (bucket + 1) * BUCKET - 1:
            lost = "epoch" if newest == last else "the seal of epoch"
            raise_missing(f"{lost} {newest + 1}", "later epochs are there", folder)
        for (epoch, kind), numbers in self.added.items():
            if numbers != [0]:
                refuse_gaps(numbers, 0, f"epoch {epoch}, {kind}", folder)


def list_bucket(files: RecordFiles, bucket: int, *, full: bool = False) -> Listing:
    """Return what is in the folder of a bucket; E0431 where something is missing between others."""
    for left in reversed(range(LIMITS.listing_tries)):
        listing = _parse_names(files.names(str(bucket)))
        try:
            listing.check(bucket, f"{files.place}/{bucket}", full=full)
        except DataError:
            if not left:
                raise
        else:
            break
    return listing


def buckets(files: RecordFiles) -> list[int]:
    """Return the buckets that there are, oldest first; E0431 where one is missing."""
    numbers = sorted(int(name) for name in files.names() if name.isdigit())
    refuse_gaps(numbers, 0, "the folder of epochs", files.place)
    return numbers


def _parse_names(names: Iterable[str]) -> Listing:
    opened, sealed, added = set[int](), set[int](), dict[tuple[str, str], list[int]]()
    for name in names:
        epoch, _, rest = name.partition(".")
        if not epoch.isdecimal():
            continue
        match rest.removesuffix(".json"):
            case "open":
                opened.add(int(epoch))
            case "seal":
                sealed.add(int(epoch))
            case kind:
                word, _, number = kind.partition("-")
                if number.isdecimal():
                    added.setdefault((epoch, word), []).append(int(number))
    return Listing(frozenset(opened), frozenset(sealed), added)
