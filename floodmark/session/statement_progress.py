"""Progress of a statement when a transient error ends it: whether it is logged already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from floodmark.errors import TransientError
from floodmark.warehouse.warehouse import Warehouse


@dataclass
class StatementProgress:
    """What a statement has written so far: the files of its rows, or a version of the catalog."""

    paths: Sequence[str] = ()
    version: int | None = None


@contextmanager
def statement_progress(
    what: str, warehouse: Warehouse, progress: StatementProgress | None = None
) -> Iterator[StatementProgress]:
    """Add to a TransientError of the block whether `what` is logged, so that the next run applies
    it.

    If the user repeated a logged statement, it would be applied twice.
    """
    progress = progress or StatementProgress()
    try:
        yield progress
    except TransientError as error:
        epoch = find_epoch(progress, warehouse)
        if epoch is None:
            error.message += f"; nothing of the {what} is logged"
        else:
            error.message += f"; the {what} is logged, as epoch {epoch}"
            error.hint = (
                f"do not execute the {what} again: `floodmark run`, advance() and any statement "
                f"go on with epoch {epoch}, once nothing is in its way"
            )
        raise


def find_epoch(progress: StatementProgress, warehouse: Warehouse) -> int | None:
    """Return the open or sealed epoch that has logged the statement."""
    head = warehouse.log.head()
    if progress.version is not None:
        latest = warehouse.catalogs.latest()
        known = latest is not None and latest.version == progress.version
        return latest.epoch if latest is not None and known else None
    if not progress.paths:
        return None
    last = head.open
    if last is None and head.sealed:
        last = warehouse.log.open_record(head.sealed)
    mine = set(progress.paths)
    if last is not None and any(mine.intersection(item["paths"]) for item in last.dml):
        return last.epoch
    return None
