"""One epoch's objects, in dependency order, independent ones in parallel."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Any, assert_never

from floodmark import failpoints
from floodmark.connectors.base import Connector, Split
from floodmark.dataflow.inputs import EpochInputs
from floodmark.dataflow.keyed_reads import KeyedReads
from floodmark.epochs.objects.epoch import AdvanceInput, advance_object
from floodmark.epochs.objects.watermarks import Marks
from floodmark.errors import FloodmarkError, TransientError, UserError
from floodmark.storage.logs.epochs import ObjectRecord, OpenRecord
from floodmark.storage.table import OtherHistory
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.dependencies import needs_of
from floodmark.stream.passes.refresh import follows_time
from floodmark.tables.cut import EpochProgress
from floodmark.tables.cutoff import cutoff_of
from floodmark.warehouse.suspensions import CHANGED_FUNCTIONS, suspend
from floodmark.warehouse.warehouse import Warehouse

OnRecord = Callable[[int, ObjectRecord], None]
"""Hears of each object that an epoch has advanced."""


class _SkipReason(Enum):
    """Why a run does not advance an object."""

    SUSPENDED = "it, or something it needs, is suspended"
    BACKFILLING = "it, or something it needs, is not in the cut yet"
    LEFT = "it, or something it needs, is not selected"


class Run:
    """Advances objects in one epoch; `progress` grows by their records.

    With a selection, an object outside of it counts as done if the epoch does not change it.
    Otherwise it is `left`, and so are its readers. `left` may initially have objects that cannot
    advance.
    """

    def __init__(
        self,
        warehouse: Warehouse,
        record: OpenRecord,
        pipeline: Pipeline,
        progress: EpochProgress,
        created: frozenset[str] = frozenset(),
        select: Collection[str] | None = None,
        left: Collection[str] = (),
        *,
        on_progress: OnRecord | None = None,
        catches_up: bool = False,
    ) -> None:
        self.warehouse = warehouse
        self.record = record
        self.pipeline = pipeline
        self.progress = progress
        self.created = created
        self.select = select
        self.left = set(left)
        self.on_progress = on_progress
        self.catches_up = catches_up
        self._keyed_reads = KeyedReads()
        self.suspended = set(warehouse.suspensions())
        # What is caught up goes by the pins in force, not by those of the epoch that was missed.
        self._deployed = warehouse.deployed()
        self._splits = {
            source: [Split.from_json(split) for split in taken]
            for source, taken in record.splits.items()
        }

    def advance(self, keys: Collection[str]) -> None:
        """Advance objects, each after its inputs.

        An object that fails is suspended. After a transient error, the epoch stays open instead: no
        further object starts, the outcome of running ones is logged, and the error is raised.
        """
        faults: list[Exception] = []
        waiting = {
            o.key: needs_of(o, self.pipeline)
            for o in self.pipeline.writing_objects
            if o.key in keys
        }
        running: dict[Future[ObjectRecord | _SkipReason], str] = {}
        with ThreadPoolExecutor(self.warehouse.limits.object_threads) as pool:
            while waiting or running:
                busy = waiting.keys() | set(running.values())
                ready = [key for key, needs in waiting.items() if not needs & busy]
                for key in ready:
                    waiting.pop(key)
                    running[pool.submit(self._advance_one, key)] = key
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    try:
                        self._take_result(running.pop(future), future)
                    except Exception as fault:
                        faults.append(fault)
                        waiting.clear()
        if faults:
            raise faults[0]

    def _take_result(self, key: str, future: Future[ObjectRecord | _SkipReason]) -> None:
        try:
            outcome = future.result()
        except (TransientError, OtherHistory):
            raise
        except Exception as error:
            suspend(self.warehouse, key, error)
            outcome = _SkipReason.SUSPENDED
        match outcome:
            case _SkipReason.LEFT:
                self.left.add(key)
            case _SkipReason.BACKFILLING:
                pass
            case _SkipReason.SUSPENDED:
                self.suspended.add(key)
                if key not in self.progress.before.records:
                    behind = self.record.epoch - 1
                    self.progress.add(ObjectRecord(key, {}, touched=False, position=behind))
            case ObjectRecord() as record:
                touched = record.touched or key in self.record.backfills
                record = replace(record, position=self.record.epoch, touched=touched)
                self.progress.add(record)
                failpoints.reach("first_object_done")
                self._warn(record)
                if self.on_progress is not None and record.touched:
                    self.on_progress(self.record.epoch, record)
            case _:
                assert_never(outcome)

    def _warn(self, record: ObjectRecord) -> None:
        """Log that messages had other old rows in mind than are stored."""
        if record.before_differs:
            text = (
                f"{record.before_differs} rows were not as the `before` of a message says: "
                "messages are missing, or came twice or in another order"
            )
            now = self.warehouse.clock.now()
            self.warehouse.log.record("warning", now, text, object=record.object)

    def _advance_one(self, key: str) -> ObjectRecord | _SkipReason:
        """Advance one object, or say why not."""
        obj = self.pipeline[key]
        concerned = {key} | needs_of(obj, self.pipeline)
        if concerned & self.suspended:
            return _SkipReason.SUSPENDED
        before = self.progress.before.records
        if any(k in before and before[k].backfilling for k in concerned):
            return _SkipReason.BACKFILLING
        if concerned & self.left:
            return _SkipReason.LEFT
        self._check_functions(obj)
        advance_input = self.advance_input()
        if not self._has_input(obj, advance_input):
            return self._record_without_changes(obj, advance_input)
        if self.select is not None and key not in self.select:
            return _SkipReason.LEFT
        sessions = self.warehouse.sessions()
        reads = obj.declared is not None and obj.declared.connector is not None
        connector = self.warehouse.splits.connector(obj) if reads else None
        guarded = partial(sessions.guard, f"{self.record.epoch}-{key}", self._seconds(key))
        try:
            with guarded():
                return advance_object(
                    obj, advance_input, self.warehouse.tables, sessions, connector
                )
        except (TransientError, OtherHistory):
            raise
        except FloodmarkError:
            if connector is None or not self._amend_splits(key, connector):
                raise
        with guarded():
            return advance_object(
                obj, self.advance_input(), self.warehouse.tables, sessions, connector
            )

    def _seconds(self, key: str) -> float | None:
        """Return the time limit of an object in seconds: to fill it, or to advance it."""
        before = self.progress.before.records.get(key)
        fills = self.catches_up or key in self.created or before is None or not before.versions
        return (
            self.warehouse.settings.timeouts.fill
            if fills
            else self.warehouse.settings.timeouts.epoch
        )

    def _check_functions(self, obj: AnalysedObject) -> None:
        """Refuse to go on with a source whose rows would be made with another meaning."""
        changed = self._deployed.find_function_changes(obj.key)
        if changed:
            raise UserError(
                CHANGED_FUNCTIONS,
                f"{', '.join(changed)} means something else than when {obj.name} was defined: "
                "rows that come would be transformed in another way than the stored ones",
                hint=f"ALTER SOURCE {obj.name} REBASE goes on with the present meaning",
            )

    def _amend_splits(self, key: str, connector: Connector) -> bool:
        """Put a source's unreadable files aside; tell whether there were any.

        A missing or replaced file is put aside when the source is resumed, not before.
        """
        splits = self._splits.get(key, [])
        readable = list(connector.without_unreadable(splits, changed=self.catches_up))
        if readable == splits:
            return False
        self.warehouse.log.amend(self.record.epoch, {key: [s.as_json() for s in readable]})
        self.warehouse.splits.amend(key, readable)
        self._splits[key] = readable
        return True

    def advance_input(self) -> AdvanceInput:
        """Return the input of an object's advance, with the epoch's progress so far."""
        unfilled = {k for k, r in self.progress.before.records.items() if not r.versions}
        created = self.created | unfilled
        change = self.warehouse.change_at(self.record.epoch, self.record.catalog_version)
        return AdvanceInput(
            self.record.epoch,
            self.record.now,
            self.progress.before,
            self.progress.as_cut(),
            self.pipeline,
            partial(self.warehouse.log.pin, self.record.epoch),
            created,
            self._splits,
            self.record.dml,
            {"catalog_version": self.record.catalog_version, "record": self.record.id},
            self.warehouse.seed,
            corrected=change.after.corrected,
            exhausted=frozenset(self.record.exhausted),
            time_of=self.warehouse.log.time_of,
            record_of=self.warehouse.log.id_of,
            previous=change.previous_definitions,
            keyed_reads=self._keyed_reads,
            plan_nodes=self.warehouse.settings.plan_nodes,
        )

    def _has_input(self, obj: AnalysedObject, advance_input: AdvanceInput) -> bool:
        if obj.key in advance_input.created or obj.key in advance_input.splits:
            return True
        if any(item["table"] == obj.key for item in advance_input.dml):
            return True
        if obj.refreshes and obj.plan is not None and follows_time(obj.plan):
            return True
        record = advance_input.before.records.get(obj.key)
        if record is not None and record.due is not None and record.due <= advance_input.now:
            return True
        done = self.progress.records
        changed = {
            k for k, r in done.items() if r.touched and (r.rows_out or k in advance_input.created)
        }
        if needs_of(obj, self.pipeline) & changed or self.created & set(obj.feeders):
            return True
        if any(o.object.target == obj.key for o in advance_input.previous.values()):
            return True
        writers = (obj, *(self.pipeline[key] for key in obj.feeders))
        return any(
            w.emits_on_close and self._has_newer_watermarks(w, advance_input) for w in writers
        )

    def _has_newer_watermarks(self, obj: AnalysedObject, advance_input: AdvanceInput) -> bool:
        before, after = advance_input.before, advance_input.after
        return any(before.watermarks(k) != after.watermarks(k) for k in obj.reads)

    def _record_without_changes(
        self, obj: AnalysedObject, advance_input: AdvanceInput
    ) -> ObjectRecord:
        before = advance_input.before.records.get(obj.key) or ObjectRecord(obj.key, {})
        marks = dict(before.watermarks)
        timed: dict[str, Any] = {}
        if obj.declared is not None and obj.declared.clock.acts:
            after = Marks.from_record(obj.declared, before, advance_input.now).close_epoch(
                obj.key in advance_input.exhausted
            )
            marks, timed = dict(after.visible), after.record_fields
        if obj.plan is not None and obj.relation.watermarks:
            inputs = EpochInputs(
                _NO_TABLES,
                self.pipeline.objects,
                advance_input.before,
                advance_input.after,
                advance_input.now,
                fills=False,
            )
            fresh = inputs.watermarks(obj.plan.top)
            marks = {c: fresh[c] for c, _ in obj.relation.watermarks if c in fresh}
        timed |= _cutoff(obj, advance_input, before)
        return replace(before.at_rest(), watermarks=marks, **timed)


def _cutoff(
    obj: AnalysedObject, advance_input: AdvanceInput, before: ObjectRecord
) -> dict[str, Any]:
    """Return up to where rows are over; those that are discarded go though nothing else happens."""
    cutoff = cutoff_of(obj, advance_input.now, before, advance_input.epoch, advance_input.time_of)
    return {} if cutoff is None else {"cutoff": cutoff.time, "cutoff_epoch": cutoff.epoch}


class _NoTables:
    """Stands for tables where only watermarks are asked for, so that Spark is not attached."""

    spark: Any = None


_NO_TABLES: Any = _NoTables()
