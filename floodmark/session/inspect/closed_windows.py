"""Check for rows of windows that were already closed, by file statistics and one SQL condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from floodmark.changelog import EPOCH
from floodmark.limits import Limits
from floodmark.session.inspect.reporting import EpochStep
from floodmark.spark.literals import literal
from floodmark.spark.types import ident
from floodmark.storage.table import DataFile
from floodmark.stream.objects.analysed import AnalysedObject


def late_condition(
    obj: AnalysedObject, steps: Sequence[EpochStep], files: Sequence[DataFile], limits: Limits
) -> str | None:
    """Return the condition that a row of a view is below the watermark before its epoch.

    `files` are the files of the view's table. Returns None if their statistics exclude such rows.
    """
    terms = [
        term
        for column, _ in obj.relation.watermarks
        for term in _terms(obj, column, steps, files, limits.window_epochs)
    ]
    return " OR ".join(terms) or None


def _terms(
    obj: AnalysedObject,
    column: str,
    steps: Sequence[EpochStep],
    files: Sequence[DataFile],
    most: int,
) -> Iterator[str]:
    marks = _marks(column, steps)
    doubtful = [f for f in files if not _is_above(f, column, marks)]
    spans = [(f.low.get(EPOCH, 0), f.high.get(EPOCH, max(marks, default=0))) for f in doubtful]
    type_ = next(f.type for f in obj.relation.columns if f.name == column)
    for epoch, mark in list(marks.items())[-most:]:
        if any(first <= epoch <= last for first, last in spans):
            yield f"({EPOCH} = {epoch} AND {ident(column)} < {literal(mark, type_)})"


def _marks(column: str, steps: Sequence[EpochStep]) -> dict[int, Any]:
    """Return the watermark that was reached before each epoch."""
    known = ((s.epoch, s.watermarks_before.get(column)) for s in steps)
    return {epoch: mark for epoch, mark in known if mark is not None}


def _is_above(file: DataFile, column: str, marks: dict[int, Any]) -> bool:
    """Tell whether no row of a file is below the furthest watermark before any of its epochs."""
    first, last = file.low.get(EPOCH), file.high.get(EPOCH)
    if first is None or last is None:
        return not marks
    reached = [mark for epoch, mark in marks.items() if first <= epoch <= last]
    return not reached or (column in file.low and bool(file.low[column] >= max(reached)))
