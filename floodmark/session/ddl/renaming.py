"""Renames of objects: when one is possible, and which name an object had in an epoch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from floodmark.epochs.backfill.progress import running_backfills, words
from floodmark.errors import NotSupported
from floodmark.session.ddl.deployment import DeploymentPlan
from floodmark.sql import statements as s
from floodmark.stream.objects.dependencies import upstream_of
from floodmark.warehouse.suspensions import remedy
from floodmark.warehouse.warehouse import Warehouse


@dataclass(frozen=True)
class Renames:
    """The renames of each epoch, oldest first: new keys by former ones."""

    steps: tuple[tuple[int, Mapping[str, str]], ...] = ()

    def then(self, key: str, epoch: int) -> str:
        """Return the key that an object of today had in an epoch."""
        for changed, renamed in reversed(self.steps):
            if changed > epoch:
                key = next((old for old, new in renamed.items() if new == key), key)
        return key

    def now(self, key: str, epoch: int) -> str:
        """Return the key that an object of an epoch has today."""
        for changed, renamed in self.steps:
            if changed > epoch:
                key = renamed.get(key, key)
        return key

    def all_then(self, keys: Collection[str] | None, epoch: int) -> set[str] | None:
        """Return the keys that some present objects had in an epoch; None means all objects."""
        return None if keys is None else {self.then(key, epoch) for key in keys}


def renames_of(warehouse: Warehouse) -> Renames:
    """Return the renames of a warehouse; reads every version of its definitions."""
    versions = warehouse.catalogs.versions()
    return Renames(tuple((v.epoch, v.renamed) for v in versions if v.renamed))


def check_at_rest(plan: DeploymentPlan, warehouse: Warehouse, statement: s.Statement) -> None:
    """Refuse a RENAME if the object or one of its readers has to catch up (E0792, E0793).

    The epochs to catch up use the former name.
    """
    if not plan.renamed:
        return
    for filling in running_backfills(warehouse).values():
        raise NotSupported(
            "E0793",
            f"{filling.object} is {words(warehouse, filling)}: nothing can be renamed until then",
            span=statement.span,
            hint="`floodmark run` continues it; then RENAME",
        )
    pipeline, cut = warehouse.deployed().pipeline, warehouse.cut()
    suspended, objects = warehouse.suspensions(), pipeline.catalog.objects
    for old in plan.renamed:
        homes = (objects[k].target or k for k in (old, *pipeline.catalog.dependents(old)))
        for home in dict.fromkeys(homes):
            record = cut.records.get(home)
            if home not in suspended and (record is None or record.position == cut.epoch):
                continue
            causes = [k for k in pipeline.objects if k in upstream_of([home], pipeline)]
            cause = next((k for k in causes if k in suspended), home)
            what = "is suspended" if cause == home else f"waits for {cause}, which is suspended"
            event = suspended.get(cause)
            raise NotSupported(
                "E0792",
                f"{home} {what}: the epochs to catch up use the name {objects[old].name}",
                span=statement.span,
                hint="" if event is None else f"{remedy(pipeline[cause], event)}; or DROP it",
            )
