"""The retention record: the oldest epoch that is kept, and when the last clean-up began."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from floodmark.storage.logs.record_files import RecordFiles
from floodmark.storage.objects.contract import Location

NAME = "kept.json"


@dataclass(frozen=True, slots=True)
class KeptEpochs:
    """The oldest epoch that is kept, and when the last clean-up began; None before the first.

    Versions that epochs from `oldest` on pin are there, and so are their changes, late rows and
    rows of statements. What earlier ones had may be gone.
    """

    oldest: int = 1
    cleaned_at: datetime | None = None


class Retention:
    """The record of what one warehouse keeps; written before anything is removed."""

    def __init__(self, place: Location) -> None:
        self._files = RecordFiles(place, "", "the record of what is kept")

    def kept_epochs(self) -> KeptEpochs:
        """Return which epochs are kept."""
        return self._files.body(NAME, KeptEpochs) or KeptEpochs()

    def keep_from(self, oldest: int, at: datetime) -> KeptEpochs:
        """Record a clean-up that leaves epochs from `oldest` on; it never goes back."""
        kept = KeptEpochs(max(oldest, self.kept_epochs().oldest), at)
        self._files.replace(NAME, asdict(kept))
        return kept
