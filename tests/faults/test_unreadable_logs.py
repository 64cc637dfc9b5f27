"""Logs of the engine and of tables that cannot be read end in codes; defects stay defects."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floodmark.api import Floodmark, connect
from floodmark.epochs import removal
from floodmark.errors import DataError
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.records.upgrades import FORMAT


def _folder(path: Path) -> None:
    """Put a folder in the place of a file, as a mount of nothing does."""
    path.unlink()
    path.mkdir()


def _file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT)")
    return tmp_path / "warehouse"


READS: dict[str, Callable[[Floodmark], Any]] = {
    "status": lambda fm: fm.status(),
    "deployed": lambda fm: fm.deployed,
    "has_new": lambda fm: fm.has_new(),
    "reader": lambda fm: fm.warehouse.cut(),
    "execute": lambda fm: fm.execute("CREATE TABLE u (k INT)"),
}


@pytest.mark.parametrize(
    ("breaks", "place", "reads"),
    [
        (_folder, "epochs/0/1.seal.json", ("status", "reader", "execute")),
        (_folder, "epochs/0/1.open.json", ("has_new", "execute")),
        (_folder, "catalog/00000001.json", ("deployed", "has_new", "execute")),
        (_file, "catalog", ("deployed", "has_new", "execute")),
        (_file, "epochs/0", ("status", "reader", "has_new", "execute")),
    ],
)
def test_a_log_that_cannot_be_read_has_a_code(
    root: Path, breaks: Callable[[Path], None], place: str, reads: tuple[str, ...]
) -> None:
    breaks(root / "_floodmark" / place)
    for name in reads:
        with connect(root) as fm, pytest.raises(DataError) as raised:
            READS[name](fm)
        assert raised.value.code == "E0455", name
        assert place in raised.value.message


ACTIONS = {
    "a number for a file": ({"add": 5}, "E0435"),
    "a file without a path": ({"add": {"size": 3}}, "E0435"),
    "a file without a size": ({"add": {"path": "a.parquet"}}, "E0456"),
    "a size in words": ({"add": {"path": "a.parquet", "size": "large"}}, "E0456"),
    "statistics of another kind": (
        {"add": {"path": "a.parquet", "size": 1, "stats": '{"numRecords": "many"}'}},
        "E0456",
    ),
    "a removed nothing": ({"remove": {"path": None}}, "E0435"),
    "a transaction without a version": ({"txn": {"appId": "t"}}, "E0435"),
    "a schema that is none": ({"metaData": {"schemaString": "{}"}}, "E0456"),
    "a schema that is no JSON": ({"metaData": {"schemaString": "{"}}, "E0456"),
    "a list for a protocol": ({"protocol": []}, "E0435"),
}


@pytest.mark.parametrize("case", ACTIONS)
def test_what_no_log_of_a_table_has_is_refused(root: Path, case: str) -> None:
    action, code = ACTIONS[case]
    log = root / "_rows/public/t/_delta_log"
    newest = max(log.glob("*.json"))
    (log / f"{int(newest.stem) + 1:020d}.json").write_text(json.dumps(action))
    with pytest.raises(DataError) as raised:
        DeltaStore(root).open("_rows/public/t")
    assert raised.value.code == code, raised.value
    with connect(root) as fm:
        fm.execute("CREATE TABLE u (k INT)")


def test_what_a_newer_version_committed_ends_what_would_write(root: Path) -> None:
    log = root / "_rows/public/t/_delta_log"
    newest = max(log.glob("*.json"))
    info, *actions = newest.read_text().splitlines()
    said = json.loads(info)
    said["commitInfo"]["userMetadata"] = json.dumps(
        {"format": FORMAT + 1, "epoch": 2, "attempt": 1}
    )
    path = log / f"{int(newest.stem) + 1:020d}.json"
    path.write_text("\n".join([json.dumps(said), *actions]))
    before = {p: p.stat().st_mtime_ns for p in root.rglob("*") if "lease" not in p.parts}
    with connect(root) as fm:
        with pytest.raises(DataError, match="E0430"):
            fm.execute("DROP TABLE t")
        assert fm.status().keys() == {"t"}
        with pytest.raises(DataError, match="E0430"):
            removal.empty(fm.warehouse, ["t"], fm.deployed, 2)
    assert {p: p.stat().st_mtime_ns for p in before} == before


def test_a_defect_of_the_engine_is_not_blamed_on_the_log(root: Path) -> None:
    nothing: Any = None
    with pytest.raises(TypeError):
        DeltaStore(root).history("_rows/public/t", nothing)
