"""The changes of objects between two catalog versions, derived once for the epoch between."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from floodmark.cached import cached_property
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.warehouse.changes import (
    ObjectChange,
    changes_between,
    former_definitions,
    keys_to_refill,
    reshapings,
)
from floodmark.warehouse.deployed import Deployed
from floodmark.warehouse.row_reuse import RowReuse


@dataclass(frozen=True)
class VersionChange:
    """The definitions in force in the epoch before, and those of an epoch.

    Between equal versions nothing changes, nor where objects only get other names. Once the epoch
    is open, its log says which objects are `restarted`.
    """

    before: Deployed
    after: Deployed
    restarted: Collection[str] | None = None

    @cached_property
    def new_keys(self) -> frozenset[str]:
        """Return the objects that the epoch creates or begins anew."""
        return keys_to_refill(self._changes)

    @cached_property
    def previous_definitions(self) -> Mapping[str, AnalysedObject]:
        """Return the former definitions of what goes on from its rows, or takes them back."""
        if self.stays:
            return {}
        return former_definitions(self.before.pipeline, self.after.pipeline, self._changes)

    @cached_property
    def reshapings(self) -> Mapping[str, RowReuse]:
        """Return the objects whose rows stay under other columns."""
        return reshapings(self.before.pipeline, self.after.pipeline, self._changes)

    @cached_property
    def _changes(self) -> list[ObjectChange]:
        if self.stays:
            return []
        done = self.after.corrected.items()
        corrected = {key for key, number in done if number > self.before.corrected.get(key, 0)}
        pipelines = (self.before.pipeline, self.after.pipeline)
        return changes_between(*pipelines, corrected, self.restarted)

    @property
    def stays(self) -> bool:
        """Tell whether every object goes on as it is, but for its name."""
        return self.before.version == self.after.version or bool(self.after.renamed)
