"""Names become folders and come back; none leaves the root or lands in another's folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodmark.errors import DataError
from floodmark.storage import warehouse

HOSTILE = [
    "../x",
    'a"b',
    "a'b",
    "ünï",
    "_changes",
    ".hidden",
    "a/b",
    "a\\b",
    "a b",
    "~",
    "%2e",
    "a\0",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_round_trip(name: str) -> None:
    folder = warehouse.escape(name)
    assert warehouse.unescape(folder) == name
    assert folder[0] not in "._" and "/" not in folder


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_names_stay_apart_and_inside(one: str, two: str) -> None:
    assert warehouse.unescape(warehouse.escape(one)) == one
    assert (warehouse.escape(one) == warehouse.escape(two)) == (one == two)
    root = Path("/w")
    for table in (warehouse.current(one, two), warehouse.state(one, two, one)):
        assert warehouse.table_folder(root, table).resolve().is_relative_to(root)


@pytest.mark.parametrize("name", ["", "n" * 300, "ü" * 60])
def test_names_that_do_not_fit_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="E0406"):
        warehouse.escape(name)


def test_no_table_lies_in_another() -> None:
    kinds = [warehouse.current, warehouse.changes, warehouse.late, warehouse.dead_letter]
    tables = [kind("public", name) for kind in kinds for name in ("a", "_state", "a.b")]
    tables += [warehouse.state("public", "a", "join")]
    assert not any(a != b and b.startswith(f"{a}/") for a in tables for b in tables)
