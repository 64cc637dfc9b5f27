"""Names become folders; none leaves the root or lands in another's folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

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
def test_hostile_names_are_safe_folders(name: str) -> None:
    folder = warehouse.escape(name)
    assert folder[0] not in "._" and not {"/", "\\", "\0", " "} & {*folder}


_NAMES = st.text(min_size=1, max_size=20) | st.text("aé数_-", min_size=40, max_size=200)


@given(_NAMES, _NAMES)
def test_names_stay_apart_and_inside(one: str, two: str) -> None:
    assert (warehouse.escape(one) == warehouse.escape(two)) == (one == two)
    for table in (warehouse.rows(one, two), warehouse.state(one, two, one)):
        assert (Path("/w") / warehouse.check_table(table)).resolve().is_relative_to("/w")


@pytest.mark.parametrize("name", ["n" * 200, "é" * 100, "é" * 34, "数" * 23, "n" * 300])
def test_any_name_fits_a_folder_and_the_names_of_files(name: str) -> None:
    folder = warehouse.escape(name)
    assert len(folder) <= 200 and warehouse.escape(f"{name}__sink") != folder
    other = f"{name[:-1]}x"
    assert warehouse.escape(other) != folder
    assert warehouse.check_table(warehouse.state(name, name, "join-left"))


def test_no_table_lies_in_another() -> None:
    kinds = [warehouse.rows, warehouse.changes, warehouse.late, warehouse.dead_letter]
    tables = [kind("public", name) for kind in kinds for name in ("a", "_state", "a.b")]
    tables += [warehouse.state("public", "a", "join")]
    assert not any(a != b and b.startswith(f"{a}/") for a in tables for b in tables)
