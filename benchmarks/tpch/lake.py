"""Delta tables that another program keeps, and how it changes them: the views' input.

It runs in a process of its own, so that its memory is not taken for the engine's.

A refresh changes a share of the rows whose keys a hash spreads over all files. Each takes the rows
after those of the refresh of its kind before.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable, write_deltalake

from benchmarks.tpch.queries import TABLES

KINDS = ("insert", "delete", "update")
_FEED = {"delta.enableChangeDataFeed": "true"}
_MULTIPLIER, _SPACE = 2_654_435_761, 2**32
"""Knuth's multiplicative hash; what is hashed may be up to 3 * 10^9."""
_GAP, _GAPS = 8, 32
"""Of 32 keys the generator gives orders the first eight."""
_LINE = "(l_orderkey * 8 + l_linenumber)"
_MOVED = {"c_nationkey": "(c_nationkey + 1) % 25", "c_acctbal": "c_acctbal + 1"}
_RESIZED = {"p_size": "p_size % 50 + 1", "p_retailprice": "p_retailprice + 1"}
_COUNTED = {"l_quantity": "l_quantity % 50 + 1", "l_extendedprice": "l_extendedprice + 1"}


class Lake:
    """The tables in a folder of their own, filled from Parquet files; a context manager."""

    def __init__(self, files: Path, folder: Path) -> None:
        self.folder = folder
        self._tables = _Tables(files, folder)
        self._until = dict.fromkeys(KINDS, 0.0)
        self._program = ProcessPoolExecutor(1, get_context("spawn"))
        self._program.submit(self._tables.create).result()

    def __enter__(self) -> Lake:
        return self

    def __exit__(self, *error: object) -> None:
        self._program.shutdown()

    def refresh(self, kind: str, share: float) -> dict[str, int]:
        """Change a share of the rows; return how many, by table.

        *insert*: so many orders more, with their lines. *delete*: so many fewer, none of them
        inserted. *update*: of lines, customers and parts. Raises ValueError where refreshes of a
        kind have had all rows.
        """
        low = self._until[kind]
        high = low + share
        if high > 1:
            raise ValueError(f"{kind}: no {share:.1%} of the rows are left")
        self._until[kind] = high
        change: Callable[[float, float], dict[str, int]] = getattr(self._tables, kind)
        return self._program.submit(change, low, high).result()


@dataclass(frozen=True)
class _Tables:
    """What the other program does: each refresh changes the keys whose hash is in a part."""

    files: Path
    folder: Path

    def create(self) -> None:
        for table in TABLES:
            rows = self._original(table).scanner().to_reader()
            write_deltalake(str(self.folder / table), rows, configuration=_FEED)

    def insert(self, low: float, high: float) -> dict[str, int]:
        """Add copies of orders under keys between those of others."""
        out = {}
        for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
            rows = self._original(table).to_table()
            keys = rows[key].to_numpy()
            rows = rows.filter(pa.array(_within(keys, low, high)))
            place = rows.schema.get_field_index(key)
            rows = rows.set_column(place, rows.schema.field(place), pc.add(rows[key], _GAP))
            write_deltalake(str(self.folder / table), rows, mode="append")
            out[table] = rows.num_rows
        return out

    def delete(self, low: float, high: float) -> dict[str, int]:
        return {
            table: self._table(table).delete(
                f"{key} % {_GAPS} < {_GAP} AND {_condition(key, low, high)}"
            )["num_deleted_rows"]
            for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey"))
        }

    def update(self, low: float, high: float) -> dict[str, int]:
        changes = (
            ("lineitem", _LINE, _COUNTED),
            ("customer", "c_custkey", _MOVED),
            ("part", "p_partkey", _RESIZED),
        )
        return {
            table: self._table(table).update(updates=updates, predicate=_condition(key, low, high))[
                "num_updated_rows"
            ]
            for table, key, updates in changes
        }

    def _table(self, name: str) -> DeltaTable:
        return DeltaTable(str(self.folder / name))

    def _original(self, table: str) -> Any:
        return ds.dataset(self.files / f"{table}.parquet")


def _within(keys: np.ndarray, low: float, high: float) -> np.ndarray:
    """Tell of each key whether its hash is in a part of all hashes, from 0 to 1."""
    hashes = keys * _MULTIPLIER % _SPACE
    return (hashes >= int(low * _SPACE)) & (hashes < int(high * _SPACE))


def _condition(key: str, low: float, high: float) -> str:
    """Return the same as a condition of SQL."""
    hashed = f"{key} * {_MULTIPLIER} % {_SPACE}"
    return f"{hashed} >= {int(low * _SPACE)} AND {hashed} < {int(high * _SPACE)}"
