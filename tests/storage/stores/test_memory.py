"""Faults on demand."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.errors import TransientError
from floodmark.storage.stores.memory import MemoryStore
from tests.storage.conftest import SCHEMA


def test_a_transient_fault_comes_once(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    store.create("public/t", SCHEMA)
    store.fail_at(2)
    store.open("public/t")
    with pytest.raises(TransientError, match="E0505"):
        store.open("public/t")
    store.open("public/t")


def test_a_persistent_fault_stays_until_healed(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    store.fail_at(1, "persistent")
    for _ in range(3):
        with pytest.raises(TransientError, match="E0505"):
            store.create("public/t", SCHEMA)
    store.heal()
    assert store.create("public/t", SCHEMA).version == 0
