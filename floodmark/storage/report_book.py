"""Which epoch, definition and state of each object were last reported to an orchestrator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from floodmark.storage.record_files import RecordFiles

_NAME = "reported.json"


@dataclass(frozen=True, slots=True)
class Reported:
    """What was last reported of one object.

    `changed` is the last epoch that changed its rows; `suspended` tells whether it was suspended;
    `failed` names the checks that failed. `final` has the spans of event time that were told as
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

    def after(self, last: Reported) -> Reported:
        """Return it as what follows another: of the same definition, what was final stays so.

        How audits came out stays, too.
        """
        same = last.fingerprint == self.fingerprint
        final, audits = (last.final, last.audits) if same else ((), {})
        return replace(self, final=final, audits=audits, told=max(self.told, last.told))

    def audited(self, name: str, epoch: int, *, passed: bool) -> Reported:
        """Return it with how a check on demand came out."""
        return replace(self, audits={**self.audits, name: (int(passed), epoch)})


class ReportBook:
    """The reports of one warehouse.

    A book that is lost or damaged means that everything is reported again.
    """

    def __init__(self, root: str | Path) -> None:
        self._files = RecordFiles(root, "", "the report book")

    def read(self) -> dict[str, Reported]:
        """Return what was last reported, by object."""
        data = self._files.derived(_NAME) or {}
        try:
            return {key: Reported(**entry) for key, entry in data.items()}
        except (AttributeError, TypeError):
            return {}

    def write(self, reported: Mapping[str, Reported]) -> None:
        """Replace the book."""
        entries = {k: asdict(v) for k, v in reported.items()}
        self._files.replace(_NAME, entries, derived=True)
