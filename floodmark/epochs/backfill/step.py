"""One step of a backfill: all rows of a sealed epoch, or the changes of some later epochs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from floodmark.epochs.backfill.choice import backfillable
from floodmark.epochs.objects.epoch import AdvanceInput, advance_object
from floodmark.storage.logs.backfills import BackfillState, BackfillStep, fence
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.stores.fencing import FencedStore
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.cut import Cut
from floodmark.tables.tables import Tables
from floodmark.warehouse.deployed import Deployed
from floodmark.warehouse.warehouse import Warehouse


class EndedError(Exception):
    """The backfill has ended: its view joined the cut, was dropped, or is filled in an epoch."""


@dataclass
class Backfill:
    """The backfill of one view, with the definitions in force when this process took it up."""

    warehouse: Warehouse
    key: str
    created: int
    deployed: Deployed

    @property
    def obj(self) -> AnalysedObject:
        """Return the view."""
        return self.deployed.pipeline[self.key]

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Prevent the backfill from ending during the block; raise `EndedError` if it has ended."""
        with fence(self.warehouse.objects):
            self._check()
            yield

    def _check(self) -> None:
        """Take in newer definitions, if they leave the view as it is."""
        warehouse = self.warehouse
        latest = warehouse.catalogs.latest()
        assert latest is not None
        for version in range(self.deployed.version + 1, latest.version + 1):
            logged = warehouse.catalogs.get(version)
            deployed = warehouse.definitions_of_version(version)
            again = warehouse.change_at(logged.epoch, version).new_keys
            if self.key in again or self.key not in backfillable(deployed.pipeline):
                raise EndedError(self.key)
            self.deployed = deployed
        record = warehouse.cut().records.get(self.key)
        if record is None or not record.backfilling or record.position != self.created:
            raise EndedError(self.key)

    def run(self, step: BackfillStep, standing: BackfillState) -> ObjectRecord:
        """Do a step, or the rest of an earlier attempt, and return the view's record."""
        warehouse = self.warehouse
        sessions = warehouse.sessions()
        tables = Tables(FencedStore(warehouse.store, self.alive), sessions.main, warehouse.limits)
        fills = f"{step.epoch}-{self.key}-backfill"
        with sessions.guard(fills, warehouse.settings.timeouts.fill):
            record = advance_object(
                self.obj, self._advance_input(step, standing), tables, sessions, None
            )
        return replace(record, position=step.epoch)

    def _advance_input(self, step: BackfillStep, standing: BackfillState) -> AdvanceInput:
        warehouse = self.warehouse
        opened = warehouse.log.open_record(step.epoch)
        after = self._others(step.epoch)
        # The rows of an epoch are taken as if an empty one followed it and created the view.
        before = after if step.first is None else self._others(step.first - 1)
        if standing.record is not None and step.first is not None:
            before = Cut(before.epoch, {**before.records, self.key: standing.record})
            after = Cut(after.epoch, {**after.records, self.key: standing.record})
        return AdvanceInput(
            step.epoch,
            opened.now,
            before,
            after,
            self.deployed.pipeline,
            partial(warehouse.log.pin, step.epoch),
            frozenset() if step.first is not None else frozenset((self.key,)),
            metadata={
                "catalog_version": self.deployed.version,
                "record": step.id,
                "step": True,
            },
            seed=warehouse.seed,
            first=step.first,
            corrected=self.deployed.corrected,
            time_of=warehouse.log.time_of,
            plan_nodes=warehouse.settings.plan_nodes,
        )

    def _others(self, epoch: int) -> Cut:
        """Return the cut that the view may read as of a sealed epoch."""
        records = self.warehouse.log.seal_record(epoch).objects
        return Cut(epoch, {k: r for k, r in records.items() if k != self.key})
