"""The epoch, definition and state of each object as last reported to an orchestrator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from floodmark.storage.logs.record_files import RecordFiles
from floodmark.storage.objects.contract import Location

NAME = "reported.json"
_LOCK = "reported.lock"


@dataclass(frozen=True, slots=True)
class LastReport:
    """What was last reported of one object.

    `changed` is the last epoch that changed its rows; `suspended` tells whether it was suspended;
    `failed` names the checks that failed. `final` has the spans of event time that were note as
    final: how long each is, and the times from and before which they are. Up to the epoch `told`
    its rows were reported without checks. `audits` has how the checks on demand came out last, by
    name: whether it passed, and the epoch.
    """

    epoch: int = 0
    changed: int = 0
    fingerprint: str = ""
    suspended: bool = False
    failed: Sequence[str] = ()
    final: Sequence[str] = ()
    told: int = 0
    audits: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def continue_from(self, last: LastReport) -> LastReport:
        """Return the report as the successor of another one.

        If the definition is the same, final partitions and results of audits stay.
        """
        same = last.fingerprint == self.fingerprint
        final, audits = (last.final, last.audits) if same else ((), {})
        return replace(self, final=final, audits=audits, told=max(self.told, last.told))

    def merge(self, other: LastReport) -> LastReport:
        """Return the report with what others have told and audited of the object meanwhile."""
        audits = other.audits if other.fingerprint == self.fingerprint else self.audits
        return replace(self, told=max(self.told, other.told), audits=audits)

    def add_audit(self, name: str, epoch: int, *, passed: bool) -> LastReport:
        """Return it with how a check on demand came out."""
        return replace(self, audits={**self.audits, name: (int(passed), epoch)})


Book = dict[str, LastReport]
"""What was last reported, by object."""


class LastReports:
    """The reports of one warehouse.

    A book that is lost or damaged means that everything is reported again.
    """

    def __init__(self, place: Location) -> None:
        self._files = RecordFiles(place, "", "the report book")

    def all_reports(self) -> Book:
        """Return what was last reported, by object."""
        return self._files.read_derived(NAME, Book) or {}

    def write(self, reported: Mapping[str, LastReport]) -> None:
        """Replace the book."""
        entries = {k: asdict(v) for k, v in reported.items()}
        self._files.replace(NAME, entries, derived=True)

    def change(
        self, changed: Callable[[Mapping[str, LastReport]], Mapping[str, LastReport]]
    ) -> None:
        """Replace what is `changed` of the book as it is, while nobody else writes it."""
        with self._files.lock(_LOCK):
            book = self.all_reports()
            if fresh := changed(book):
                self.write({**book, **fresh})

    def record_audit(self, key: str, name: str, epoch: int, *, passed: bool) -> None:
        """Take in how a check on demand of an object came out, if anything is known of it."""
        self.change(
            lambda book: (
                {key: book[key].add_audit(name, epoch, passed=passed)} if key in book else {}
            )
        )

    def after_run(self, fresh: Mapping[str, LastReport]) -> None:
        """Take in what a run has told; what was told and audited meanwhile stays so."""
        self.change(
            lambda book: {
                key: now.merge(book[key]) if key in book else now for key, now in fresh.items()
            }
        )

    def without_checks(self, fresh: Mapping[str, LastReport]) -> None:
        """Take in what was told without checks, where the book does not say so, or more, yet."""
        self.change(
            lambda book: {
                key: now
                for key, now in fresh.items()
                if key not in book or now.told > max(book[key].told, book[key].epoch)
            }
        )
