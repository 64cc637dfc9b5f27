"""Threads that run the steps of backfills beside the epochs of a run."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType

from floodmark import failpoints
from floodmark.epochs.backfill.progress import next_step, resumable_backfills
from floodmark.epochs.backfill.step import Backfill, EndedError
from floodmark.epochs.run import OnRecord
from floodmark.errors import TransientError
from floodmark.storage.logs.backfills import BackfillLog, BackfillState
from floodmark.storage.table import OtherHistory
from floodmark.warehouse.suspensions import suspend
from floodmark.warehouse.warehouse import Warehouse


class Workers:
    """The backfills of one run, for the duration of a block."""

    def __init__(self, warehouse: Warehouse, on_progress: OnRecord | None = None) -> None:
        self._warehouse = warehouse
        self._on_progress = on_progress
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(warehouse.limits.backfill_threads)
        self._running: dict[str, Future[bool]] = {}

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)
        if kind is None:
            self._collect()

    def start(self) -> None:
        """Start the backfills that can continue and that no other process works on."""
        self._collect()
        for key, created in resumable_backfills(self._warehouse).items():
            if key not in self._running:
                backfill = Backfill(self._warehouse, key, created, self._warehouse.deployed())
                self._running[key] = self._pool.submit(self._work, backfill)

    def wait(self) -> bool:
        """Wait a moment while there is work; tell whether an epoch may have something to do."""
        running = list(self._running.values())
        if not running:
            return False
        seconds = self._warehouse.limits.backfill_poll_milliseconds / 1_000
        done, left = wait(running, seconds, FIRST_COMPLETED)
        return bool(left) or any(future.result() for future in done)

    def _collect(self) -> None:
        """Let go of what has ended; raise what the world is at fault for."""
        for key, future in list(self._running.items()):
            if future.done() and not future.cancelled():
                del self._running[key]
                future.result()

    def _work(self, backfill: Backfill) -> bool:
        """Take steps until the view is within reach; tell whether anything was done."""
        log = BackfillLog(self._warehouse.objects, backfill.key, backfill.created)
        with log.claim() as mine:
            if not mine:
                return False
            try:
                return self._steps(backfill, log)
            except EndedError:
                return True
            except (TransientError, OtherHistory):
                raise
            except Exception as error:
                self._suspend(backfill, error)
                return True

    def _steps(self, backfill: Backfill, log: BackfillLog) -> bool:
        """Take steps; ready is a view that is within reach."""
        warehouse = self._warehouse
        behind: list[int] = []
        while not self._stop.is_set() or not behind:
            standing = log.standing()
            if standing.ready:
                return True
            step = next_step(warehouse, backfill.obj, standing)
            if step is None or self._gains_nothing(behind, standing):
                if standing.record is not None:
                    with backfill.alive():
                        log.make_ready()
                    failpoints.reach("backfill_ready")
                return standing.record is not None
            number = standing.steps
            if standing.open is None:
                with backfill.alive():
                    step = log.begin(number, step)
            else:
                number -= 1
            failpoints.reach("backfill_step_logged")
            record = backfill.run(step, standing)
            failpoints.reach("backfill_step_done")
            with backfill.alive():
                before = standing.record
                log.finish(number, record if before is None else record.add_earlier(before))
            if self._on_progress is not None:
                self._on_progress(step.epoch, record)
            behind.append(warehouse.log.head().sealed - step.epoch)
        return True

    def _gains_nothing(self, behind: list[int], standing: BackfillState) -> bool:
        """Tell whether epochs come as fast as they are done one by one: the view joins then."""
        steps = self._warehouse.limits.backfill_patience
        return standing.open is None and len(behind) >= steps and behind[-1] >= behind[-steps]

    def _suspend(self, backfill: Backfill, error: Exception) -> None:
        """Log a suspension, between two epochs; RESUME lets the backfill go on at its step."""
        warehouse = self._warehouse
        with warehouse.lease.hold(f"suspending {backfill.key}", warehouse.wait):
            try:
                with backfill.alive():
                    pass
            except EndedError:
                return
            suspend(warehouse, backfill.key, error)
