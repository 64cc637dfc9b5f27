"""What every connector promises: what is read again is the same, and what is sent again is once.

Who adds a connector adds its sample here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from floodmark.connectors.base import Connector, Discovery, Split
from floodmark.connectors.registry import CONNECTORS, SENDERS
from tests.connectors.files import test_files_read
from tests.connectors.lookup.test_lookup import lookup
from tests.connectors.sinks.test_senders import FIRST, SECOND, Place
from tests.connectors.sources import test_discover_delta_splits
from tests.connectors.sources.test_generated import BID, datagen, nexmark

if TYPE_CHECKING:
    from floodmark.spark.session import Sessions


def _files(folder: Path) -> Connector:
    for number in range(3):
        pq.write_table(
            test_discover_delta_splits.rows((number, "a"), (9, "b")), folder / f"{number}.parquet"
        )
    return test_files_read.source(folder, "PARQUET", test_discover_delta_splits.SCHEMA)


def _delta(folder: Path) -> Connector:
    for number in range(3):
        test_discover_delta_splits.add(folder, (number, "a"), (9, "b"))
    return test_discover_delta_splits.source(folder)


SOURCES: Mapping[str, Callable[[Path], Connector]] = {
    "files": _files,
    "delta": _delta,
    "datagen": lambda _: datagen(),
    "nexmark": lambda _: nexmark("bid", BID, 150),
    "lookup": lambda folder: lookup(folder / "dim.db"),
}
SINKS = {"files": "FORMAT PLAIN ENCODE JSON", "delta": ""}
"""The format that a sink of a connector says."""


def _offered(connector: Connector, limit: int) -> list[Split]:
    """Return all splits, as they come back from the log."""
    found: list[Split] = []
    while splits := connector.discover_splits(
        {0: found[-1].end} if found else {}, limit, Discovery(found)
    ):
        found += [Split.from_json(json.loads(json.dumps(s.as_json()))) for s in splits]
    return found


@pytest.mark.parametrize("name", CONNECTORS)
def test_logged_splits_are_there_again(tmp_path: Path, name: str) -> None:
    connector = SOURCES[name](tmp_path)
    splits = _offered(connector, 4)
    connector.check(splits)
    assert connector.find_change(splits) is None
    assert _offered(connector, 4) == splits
    assert [s.start for s in splits] == [0, *(s.end for s in splits)][: len(splits)]


@pytest.mark.spark
@pytest.mark.parametrize("name", sorted({*CONNECTORS} - {"lookup"}))
def test_splits_give_the_same_rows_whenever_and_however_cut(
    tmp_path: Path, sessions: Sessions, name: str
) -> None:
    connector = SOURCES[name](tmp_path)
    few, whole = (
        test_files_read.rows(sessions, connector, _offered(connector, limit)) for limit in (37, 999)
    )
    assert few == whole
    assert [row["__offset"] for row in whole] == list(range(len(whole))) != []


@pytest.mark.parametrize("type_", ["retract", "upsert"])
@pytest.mark.parametrize("name", SENDERS)
def test_a_batch_that_is_sent_twice_is_there_once(tmp_path: Path, name: str, type_: str) -> None:
    place = Place(tmp_path, f"connector = '{name}', type = '{type_}'", SINKS[name])
    for epoch, changes in ((1, FIRST), (2, SECOND)):
        rows = place.send(epoch, *changes, begins=epoch == 1)
        there = {p: p.read_bytes() for p in place.out.rglob("*") if p.is_file()}
        for _ in range(2):
            assert place.send(epoch, *changes, begins=epoch == 1) == rows > 0
            assert {p: p.read_bytes() for p in place.out.rglob("*") if p.is_file()} == there
