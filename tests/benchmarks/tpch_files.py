"""Files of the eight tables of TPC-H with random rows, for tests: DuckDB's generator is not there.

The sizes are those of the generator; the values are those by which queries choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_FIRST_DAY, _DAYS = np.datetime64("1992-01-01"), 2_400
_MONEY = pa.decimal128(15, 2)
_NATIONS = ("FRANCE", "GERMANY", "BRAZIL", "CANADA", "SAUDI ARABIA", "CHINA", "INDIA", "KENYA")
_REGIONS = ("EUROPE", "EUROPE", "AMERICA", "AMERICA", "ASIA", "ASIA", "ASIA", "AFRICA")


def write(folder: Path, scale: float, seed: int = 0) -> None:
    """Write `<table>.parquet` of each table, deterministic by the seed."""
    folder.mkdir(parents=True)
    for name, columns in _tables(scale, np.random.default_rng(seed)).items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def _tables(scale: float, random: np.random.Generator) -> dict[str, dict[str, Any]]:
    suppliers, customers = int(10_000 * scale), int(150_000 * scale)
    parts, orders = int(200_000 * scale), int(1_500_000 * scale)
    regions = sorted(set(_REGIONS))
    numbers = np.arange(orders)
    order_keys = numbers // 8 * 32 + numbers % 8
    lines = random.integers(1, 8, orders)
    first = np.repeat(np.cumsum(lines) - lines, lines)
    count = int(lines.sum())
    shipped = random.integers(0, _DAYS, count)
    part_suppliers = np.tile(np.arange(4), parts) % suppliers
    line_parts = random.integers(1, parts + 1, count)

    def one_of(values: Sequence[str], rows: int) -> pa.Array:
        return pa.array(np.array(values)[random.integers(0, len(values), rows)])

    def money(low: int, high: int, rows: int) -> pa.Array:
        cents = random.integers(low * 100, high * 100, rows)
        return pa.array([Decimal(int(c)).scaleb(-2) for c in cents], _MONEY)

    def days(offsets: np.ndarray) -> pa.Array:
        return pa.array((_FIRST_DAY + offsets).astype("datetime64[D]"))

    def small(values: Any) -> pa.Array:
        return pa.array(values, pa.int32())

    return {
        "region": {
            "r_regionkey": small(range(len(regions))),
            "r_name": regions,
            "r_comment": ["a region"] * len(regions),
        },
        "nation": {
            "n_nationkey": small(range(25)),
            "n_name": [_NATIONS[i] if i < len(_NATIONS) else f"NATION {i}" for i in range(25)],
            "n_regionkey": small([regions.index(_REGIONS[i % len(_REGIONS)]) for i in range(25)]),
            "n_comment": ["a nation"] * 25,
        },
        "supplier": {
            "s_suppkey": np.arange(1, suppliers + 1),
            "s_name": [f"Supplier#{i}" for i in range(suppliers)],
            "s_address": one_of(("here", "there"), suppliers),
            "s_nationkey": small(random.integers(0, len(_NATIONS), suppliers)),
            "s_phone": one_of(("13-1", "31-2"), suppliers),
            "s_acctbal": money(-900, 9_000, suppliers),
            "s_comment": one_of(("fine", "Customer has Complaints"), suppliers),
        },
        "customer": {
            "c_custkey": np.arange(1, customers + 1),
            "c_name": [f"Customer#{i}" for i in range(customers)],
            "c_address": one_of(("here", "there"), customers),
            "c_nationkey": small(random.integers(0, len(_NATIONS), customers)),
            "c_phone": one_of(("13-1", "31-2", "11-3"), customers),
            "c_acctbal": money(-900, 9_000, customers),
            "c_mktsegment": one_of(("BUILDING", "MACHINERY"), customers),
            "c_comment": one_of(("fine", "good"), customers),
        },
        "part": {
            "p_partkey": np.arange(1, parts + 1),
            "p_name": one_of(("green forest", "forest lemon", "lemon"), parts),
            "p_mfgr": one_of(("Manufacturer#1", "Manufacturer#2"), parts),
            "p_brand": one_of(("Brand#12", "Brand#23", "Brand#34", "Brand#45"), parts),
            "p_type": one_of(
                ("ECONOMY ANODIZED STEEL", "PROMO PLATED BRASS", "LARGE BURNISHED BRASS"), parts
            ),
            "p_size": small(random.integers(1, 51, parts)),
            "p_container": one_of(("SM CASE", "MED BOX", "MED BAG", "LG BOX"), parts),
            "p_retailprice": money(900, 2_000, parts),
            "p_comment": one_of(("fine", "good"), parts),
        },
        "partsupp": {
            "ps_partkey": np.repeat(np.arange(1, parts + 1), 4),
            "ps_suppkey": part_suppliers + 1,
            "ps_availqty": random.integers(1, 10_000, 4 * parts),
            "ps_supplycost": money(1, 1_000, 4 * parts),
            "ps_comment": one_of(("fine", "good"), 4 * parts),
        },
        "orders": {
            "o_orderkey": order_keys,
            # A third of the customers have no orders.
            "o_custkey": random.integers(1, max(2, customers * 2 // 3), orders),
            "o_orderstatus": one_of(("F", "O", "P"), orders),
            "o_totalprice": money(1_000, 400_000, orders),
            "o_orderdate": days(random.integers(0, _DAYS, orders)),
            "o_orderpriority": one_of(("1-URGENT", "2-HIGH", "3-MEDIUM"), orders),
            "o_clerk": one_of(("Clerk#1", "Clerk#2"), orders),
            "o_shippriority": small(np.zeros(orders)),
            "o_comment": one_of(("fine", "special requests"), orders),
        },
        "lineitem": {
            "l_orderkey": np.repeat(order_keys, lines),
            "l_partkey": line_parts,
            "l_suppkey": random.integers(0, 4, count) % suppliers + 1,
            "l_linenumber": np.arange(count) - first + 1,
            "l_quantity": money(1, 51, count),
            "l_extendedprice": money(900, 90_000, count),
            "l_discount": money(0, 1, count),
            "l_tax": money(0, 1, count),
            "l_returnflag": one_of(("R", "A", "N"), count),
            "l_linestatus": one_of(("O", "F"), count),
            "l_shipdate": days(shipped),
            "l_commitdate": days(shipped + random.integers(-30, 60, count)),
            "l_receiptdate": days(shipped + random.integers(1, 31, count)),
            "l_shipinstruct": one_of(("DELIVER IN PERSON", "NONE"), count),
            "l_shipmode": one_of(("AIR", "MAIL", "SHIP"), count),
            "l_comment": one_of(("fine", "good"), count),
        },
    }
