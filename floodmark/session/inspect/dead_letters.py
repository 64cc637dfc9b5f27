"""Counts of an object's dead letters; a letter is retracted when its row is corrected."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from floodmark.changelog import ERROR, WEIGHT
from floodmark.limits import Limits
from floodmark.storage.plain_files import open_parquet, read_parquet
from floodmark.storage.table import Handle, Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.layout import dead_letter_table

_VALUE = re.compile(r"(?s): '.*' is (?=not |outside )")
_LATEST = re.compile("(?<= is not up to ).*")
"""The last time that is not too far ahead: each epoch has another one."""


def count_letters(store: Store, handle: Handle) -> int:
    """Return the number of letters of a table that are not retracted, from its files, without
    Spark.
    """
    counted = 0
    for file, path in zip(handle.files, store.paths(handle), strict=True):
        if file.low.get(WEIGHT) == file.high.get(WEIGHT) == 1:
            counted += file.rows
            continue
        weights = read_parquet(path, [WEIGHT]).column(WEIGHT)
        counted += sum(weights.to_pylist())
    return counted


def describe_letters(store: Store, obj: AnalysedObject, limits: Limits) -> str | None:
    """Describe the number of an object's dead letters and their main reason; None without any."""
    name = dead_letter_table(obj)
    if not store.exists(name):
        return None
    handle = store.open(name)
    rows = count_letters(store, handle)
    most = "; ".join(f"{n:,} × {why}" for why, n in frequent(store, handle, limits))
    return f"{rows:,}: {most}" if rows else None


def frequent(store: Store, handle: Handle, limits: Limits, most: int = 3) -> list[tuple[str, int]]:
    """Return the most frequent reasons of the newest letters of a table, with their row counts.

    Letters that differ only in a value count as one reason. Needs no Spark.
    """
    counted: Counter[str] = Counter()
    for weight, error in islice(_newest(store, handle, limits), limits.letters):
        counted[_reason(error)] += weight
    return [(reason, rows) for reason, rows in counted.most_common(most) if rows > 0]


def _newest(store: Store, handle: Handle, limits: Limits) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the weight and the error of each letter, those of the newest file first."""
    for path in reversed(store.paths(handle)):
        with open_parquet(path) as file:
            for batch in file.iter_batches(limits.letters_piece, columns=[WEIGHT, ERROR]):
                columns = (batch.column(name).to_pylist() for name in (WEIGHT, ERROR))
                yield from zip(*columns, strict=True)


def _reason(error: dict[str, Any]) -> str:
    """Return the reason that letters of one kind have in common."""
    code, expression, message = error["code"], error["expression"], error["message"]
    said = expression
    if message is not None:
        said = _LATEST.sub("…", _VALUE.sub(": '…' is ", message))
    return f"E{code:04d} {said}" if code is not None else said or "?"
