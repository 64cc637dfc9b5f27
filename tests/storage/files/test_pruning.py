"""A pruned file never holds a key or range that was asked for."""

from __future__ import annotations

from hypothesis import given, strategies as st

from floodmark.scalar.types import BIGINT, VARCHAR, Field
from floodmark.storage.files.pruning import prune
from floodmark.storage.table import DataFile, Handle

VALUES = st.one_of(st.none(), st.integers(-3, 6))
TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "ab", "b"]))
ROWS = st.lists(st.tuples(VALUES, TEXTS), min_size=1, max_size=5)
SCHEMA = (Field("a", BIGINT), Field("b", VARCHAR))


def file_of(name: str, rows: list, bounded: bool) -> DataFile:
    low, high, nulls = {}, {}, {}
    for i, column in enumerate(("a", "b")):
        present = [row[i] for row in rows if row[i] is not None]
        nulls[column] = len(rows) - len(present)
        if present:
            low[column], high[column] = min(present), max(present)
    if not bounded:
        low, high, nulls = {}, {}, {}
    return DataFile(name, 1, len(rows), low, high, nulls)


@given(
    st.lists(st.tuples(ROWS, st.booleans()), max_size=5),
    st.lists(st.tuples(VALUES, TEXTS), max_size=4),
    st.booleans(),
)
def test_pruning_by_keys_is_safe(contents: list, keys: list, both: bool) -> None:
    files = [file_of(str(i), rows, bounded) for i, (rows, bounded) in enumerate(contents)]
    handle = Handle("t", 0, SCHEMA, tuple(files), {})
    columns = ("a", "b") if both else ("a",)
    wanted = {key[: len(columns)] for key in keys}
    kept = prune(handle, {c: [key[i] for key in keys] for i, c in enumerate(columns)})
    for file, (rows, _) in zip(files, contents, strict=True):
        if any(row[: len(columns)] in wanted for row in rows):
            assert file in kept


@given(st.lists(st.tuples(ROWS, st.booleans()), max_size=5), VALUES, VALUES)
def test_pruning_by_range_is_safe(contents: list, low: int | None, high: int | None) -> None:
    files = [file_of(str(i), rows, bounded) for i, (rows, bounded) in enumerate(contents)]
    kept = prune(Handle("t", 0, SCHEMA, tuple(files), {}), ranges={"a": (low, high)})
    for file, (rows, _) in zip(files, contents, strict=True):
        present = [row[0] for row in rows if row[0] is not None]
        if any((low is None or v >= low) and (high is None or v <= high) for v in present):
            assert file in kept


def test_it_prunes_what_it_can() -> None:
    files = tuple(DataFile(str(i), 1, 2, {"a": i}, {"a": i}, {"a": 0}) for i in range(100))
    handle = Handle("t", 0, SCHEMA, files, {})
    assert [f.path for f in prune(handle, {"a": [97, 3, None]})] == ["3", "97"]
    assert prune(handle, {"a": []}) == ()
    assert len(prune(handle)) == 100
    assert len(prune(handle, ranges={"a": (10, 12)})) == 3


def test_nan_hides_behind_no_bound() -> None:
    nan = float("nan")
    closed = DataFile("closed", 1, 1, {"a": 1.0}, {"a": 2.0}, {"a": 0})
    hidden = DataFile("open", 1, 1, {"a": 1.0}, {}, {"a": 0})
    handle = Handle("t", 0, SCHEMA, (closed, hidden), {})
    assert prune(handle, {"a": [nan]}) == (hidden,)
    assert prune(handle, {"a": [1.5, nan]}) == (closed, hidden)
