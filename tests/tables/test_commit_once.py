"""What a table has recorded of an epoch stands: nothing is built for it again. No Spark."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from floodmark import failpoints
from floodmark.dataflow.state.io import StateIO
from floodmark.errors import DataError
from floodmark.scalar.types import BIGINT, Field
from floodmark.storage.logs.object_record import ObjectRecord
from floodmark.storage.stores.memory import MemoryStore
from floodmark.storage.table import DataFile, Handle
from floodmark.tables.tables import TableChange, Writer
from tests.source_trees import HOUSE, module_paths, nodes_of

T, SCHEMA = "_state/public/v/x", (Field("k", BIGINT),)


def file(name: str) -> DataFile:
    return DataFile(name, 10, 1, {}, {}, {})


def writer(store: MemoryStore, epoch: int, record: str = "one") -> Writer:
    tables: Any = SimpleNamespace(store=store, open=store.open)
    return Writer(tables, "v", epoch, {"record": record})


def refused() -> TableChange:
    raise AssertionError("nothing is to be built")


def test_a_change_is_built_and_committed_once(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    done = writer(store, 1).commit_once(T, SCHEMA, lambda: TableChange([file("a")]))
    assert done is not None and [f.path for f in done.files] == ["a"]
    assert writer(store, 1).commit_once(T, SCHEMA, refused) == done == store.open(T)
    with pytest.raises(DataError, match="E0433"):
        writer(store, 1, "other").commit_once(T, SCHEMA, refused)
    after = writer(store, 2).commit_once(
        T, SCHEMA, lambda: TableChange([file("b")], done.files, done)
    )
    assert after is not None and [f.path for f in after.files] == ["b"]


def test_where_nothing_changes_nothing_is_committed(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    assert writer(store, 1).commit_once(T, SCHEMA, lambda: None) is None
    assert not store.exists(T)


def test_a_failpoint_is_passed_after_a_commit_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, passed = MemoryStore(tmp_path), list[tuple[str, int]]()
    monkeypatch.setattr(failpoints, "reach", lambda n: passed.append((n, store.open(T).version)))
    for build in (lambda: None, lambda: TableChange([file("a")]), refused):
        writer(store, 1).commit_once(T, SCHEMA, build, "state_committed")
    assert passed == [("state_committed", 1)]


def state(store: MemoryStore, epoch: int, before: Handle | None) -> StateIO:
    """Return the state tables of an object whose table is at a version before the epoch."""
    cut: Any = SimpleNamespace(version=lambda *_: None if before is None else before.version)
    home: Any = SimpleNamespace(key="v")
    own = writer(store, epoch)
    return StateIO(own.tables, own, cut, home, home, lambda _, version: version)


def test_a_state_is_built_on_the_epoch_before(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    seen: list[Handle | None] = []

    def build(before: Handle | None) -> TableChange:
        seen.append(before)
        return TableChange([file(f"f{len(seen)}")], () if before is None else before.files)

    first = state(store, 1, None).commit_once(T, SCHEMA, build)
    io = state(store, 2, first)
    second = io.commit_once(T, SCHEMA, build)
    assert second is not None and seen == [None, first] and io.versions == {T: second.version}
    assert [f.path for f in second.files] == ["f2"]
    again = state(store, 2, first)
    assert again.commit_once(T, SCHEMA, lambda _: refused()) == second
    assert again.versions == {T: second.version}


def test_a_state_that_does_not_change_stays(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    io = state(store, 1, None)
    assert io.commit_once(T, SCHEMA, lambda _: None) is None and not io.versions
    first = io.commit_once(T, SCHEMA, lambda _: TableChange([file("a")]))
    later = state(store, 2, first)
    assert later.commit_once(T, SCHEMA, lambda _: None) == first == store.open(T)
    assert first is not None and later.versions == {T: first.version}


def test_the_record_of_an_object_is_that_of_its_last_commit(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    assert writer(store, 1).find_record(T) is None
    said = ObjectRecord("v", {"other": 3}, rows_out=1)
    record = writer(store, 1).commit_last(T, SCHEMA, [file("a")], said)
    assert record.versions == {"other": 3, T: 1} and record.rows_out == 1
    assert writer(store, 1).find_record(T) == record
    assert writer(store, 2).find_record(T) is None


def test_one_place_asks_whether_an_epoch_is_recorded() -> None:
    """Others name what they build; who only reads what an earlier attempt left is named here."""
    asking = set()
    for path in module_paths():
        if any(_asks(node) for node in nodes_of(path)):
            asking.add(path.relative_to(HOUSE).as_posix())
    assert asking == {
        "tables/tables.py", "epochs/objects/apply_changelog.py", "epochs/objects/object_advance.py"
    }  # fmt: skip


def _asks(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "find_handle" and len(node.args) == 1
