"""Many rows of one statement: nothing holds them whole, and each step does them once."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.connect.client.core import SparkConnectClient

from floodmark.limits import Limits
from floodmark.query import staging as staged_rows
from floodmark.spark import keyed, server
from floodmark.spark.confs import SparkConfig
from floodmark.storage.files import key_search
from floodmark.tables import key_uniqueness, keyed_rows
from tests.warehouses import Site, differing, replay_all

pytestmark = pytest.mark.spark

SENT_BYTES = 96 * 1024
"""A query with its local rows is smaller, and no rows go to the server beside it."""
COUNT = 12_000
_ASKED: list[bool | None] = [True, False]
_BY_KEY = "k INT, g VARCHAR, d INT DEFAULT 7, PRIMARY KEY (k)"


@contextmanager
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Yield the bytes of the queries, and of what is kept for them, that are sent inside."""
    sizes: list[int] = []
    execute, fetch = SparkConnectClient._execute, SparkConnectClient._execute_and_fetch_as_iterator
    keep = SparkConnectClient.cache_artifact

    def executing(self: SparkConnectClient, request: Any) -> None:
        sizes.append(request.ByteSize())
        execute(self, request)

    def fetching(self: SparkConnectClient, request: Any, *rest: Any, **named: Any) -> Any:
        sizes.append(request.ByteSize())
        return fetch(self, request, *rest, **named)

    def keeping(self: SparkConnectClient, blob: bytes) -> Any:
        sizes.append(len(blob))
        return keep(self, blob)

    with monkeypatch.context() as patch:
        patch.setattr(SparkConnectClient, "_execute", executing)
        patch.setattr(SparkConnectClient, "_execute_and_fetch_as_iterator", fetching)
        patch.setattr(SparkConnectClient, "cache_artifact", keeping)
        yield sizes


def test_rows_of_a_statement_do_not_go_with_the_query(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"k": range(COUNT), "g": [f"some text {i}" for i in range(COUNT)]})
    pq.write_table(rows, tmp_path / "a.parquet")
    values = ", ".join(f"({k}, 'some text {k}')" for k in range(COUNT))
    site.define("CREATE TABLE t (k INT PRIMARY KEY, g VARCHAR);",
                "CREATE TABLE u (k INT PRIMARY KEY, g VARCHAR, w INT AS (k * 2));")  # fmt: skip
    with site.connect() as fm, sent(monkeypatch) as sizes:
        pieces = _counting_pieces(monkeypatch)
        for table in ("t", "u"):
            fm.execute(f"COPY {table} (k, g) FROM '{tmp_path}/a.parquet'")
        fm.execute(f"INSERT INTO u (k, g) VALUES {values}")
        assert max(sizes) < SENT_BYTES
        assert max(pieces) <= 2**17
        assert fm.execute("SELECT count(*), sum(w) FROM u").rows == ((COUNT, COUNT * (COUNT - 1)),)
        assert not [p for p in site.root.rglob("dml/u-*/*/*") if p.is_file()]


def _counting_pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the rows of each piece that is written."""
    found: list[int] = []
    write = staged_rows._Files.write

    def counting(self: Any, rows: pa.Table) -> None:
        found.append(rows.num_rows)
        write(self, rows)

    monkeypatch.setattr(staged_rows._Files, "write", counting)
    return found


@pytest.mark.parametrize(
    ("columns", "said", "here", "there"),
    [
        pytest.param("k INT, g VARCHAR, d INT DEFAULT 7", "", [], [], marks=pytest.mark.long),
        (_BY_KEY, "", _ASKED, []),
        (_BY_KEY, "ON CONFLICT DO NOTHING", _ASKED, []),
        # Of floats nobody knows where they lie: the second time stored rows may be among them.
        (_BY_KEY.replace("INT", "DOUBLE", 1), "", [None], [True]),
    ],
)
def test_rows_that_come_once_are_not_gathered(
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    columns: str,
    said: str,
    here: list[bool | None],
    there: list[bool | None],
) -> None:
    asked = (
        _asking(monkeypatch, key_uniqueness, "each_once"),
        _asking(monkeypatch, keyed, "is_unique"),
    )
    path = tmp_path / "a.csv"
    site.define(*(f"CREATE TABLE {name} ({columns}) {said};" for name in ("fast", "slow")))
    steps = (
        [(k, "a") for k in range(40)],
        [(k, "b") for k in range(30, 60)],
        [(k % 50, f"c{k}") for k in range(20, 90)],
        [(100 + k % 30, f"d{k}") for k in range(40)],
    )
    with site.connect() as fm:
        for rows in steps:
            path.write_text("".join(f"{k},{g}\n" for k, g in rows))
            for table, many in (("fast", 10), ("slow", 1_000)):
                fm.warehouse.limits = Limits(unique_rows=many)
                fm.execute(f"COPY {table} (k, g) FROM '{path}'")
        fm.warehouse.limits = Limits(unique_rows=10)
        for table in ("fast", "slow"):
            fm.execute("BEGIN")
            fm.execute(f"COPY {table} (k, g) FROM '{path}'")
            fm.execute(f"UPDATE {table} SET g = 'x' WHERE k < 20")
            fm.execute("COMMIT")
        for what in ("{}", "{}__changes"):
            found = [
                sorted(fm.execute(f"SELECT * FROM {what.format(table)}").rows, key=repr)
                for table in ("fast", "slow")
            ]
            if "changes" in what:
                found = [_ranked(rows) for rows in found]
            assert found[0] == found[1] != []
        epochs = "SELECT epoch, rows_in, rows_out, ignored_rows FROM floodmark.epochs"
        counts = [
            [r[1:] for r in sorted(fm.execute(f"{epochs} WHERE object = 'public.{table}'").rows)
             if r[1]] for table in ("fast", "slow")
        ]  # fmt: skip
        assert counts[0] == counts[1]
        if not here:
            assert differing(replay_all(fm)) == []
    # Where a row is stored among those that come, the merge alone looks for their keys.
    assert asked == (here, there)


def _asking(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[bool | None]:
    """Return a list that gets what a module tells of rows that come once."""
    asked, ask = list[bool | None](), getattr(module, name)

    def asking(*rest: Any) -> bool | None:
        asked.append(ask(*rest))
        return asked[-1]

    monkeypatch.setattr(module, name, asking)
    return asked


@pytest.mark.parametrize(
    ("key", "count", "lookup", "chosen"),
    [
        ("k", 30, 2**29, []),
        ("k", 5, 2**29, ["here"]),
        ("k", 5, 0, ["Spark"]),
        ("k, g", 5, 2**29, ["here", "key"]),
    ],
)
def test_keys_are_looked_for_first_where_far_more_rows_are_stored_than_come(
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    count: int,
    lookup: int,
    chosen: list[str],
) -> None:
    called = list[str]()
    for module, name, what in (
        (key_search, "copy_rows", "here"),
        (keyed_rows, "rows_of_keys", "Spark"),
        (keyed, "semi_join", "key"),
    ):
        _noting(monkeypatch, module, name, called, what)
    path = tmp_path / "a.csv"
    site.define(f"CREATE TABLE t (k INT, g VARCHAR, n INT, PRIMARY KEY ({key}));")
    limits = Limits(whole_bytes=0, search_bytes=lookup, search_share=1)
    with site.connect(limits=limits) as fm:
        for first, rows in ((0, 40), (38 - count, count)):
            path.write_text("".join(f"{k},g,{rows}\n" for k in range(first, first + rows)))
            fm.execute(f"COPY t FROM '{path}'")
        found = fm.execute("SELECT n, count(*) FROM t GROUP BY n").rows
    assert dict(found) == {count: count, 40: 40 - count}
    assert called == chosen


def _noting(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, called: list[str], what: str
) -> None:
    """Note `what` in a list whenever a function is called."""
    function = getattr(module, name)

    def noting(*rest: Any, **named: Any) -> Any:
        called.append(what)
        return function(*rest, **named)

    monkeypatch.setattr(module, name, noting)


def _ranked(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return changes with the place of their epoch among the epochs that there are."""
    epochs = sorted({row[0] for row in rows})
    return sorted((epochs.index(row[0]), *row[1:]) for row in rows)


LINES = 3_000_000
COLUMNS = """
l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT,
l_quantity NUMERIC(15, 2), l_extendedprice NUMERIC(15, 2), l_discount NUMERIC(15, 2),
l_tax NUMERIC(15, 2), l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE,
l_commitdate DATE, l_receiptdate DATE, l_shipinstruct VARCHAR, l_shipmode VARCHAR,
l_comment VARCHAR
"""
TIMES_SPARK = 3.0
"""So many times the processor time in which Spark alone writes the rows of a file does COPY take;
measured: 2.1 into tables with and without a key."""


def _line_items(path: Path, count: int) -> None:
    """Write random rows in the form of TPC-H's lineitem, some 27 bytes each."""
    import numpy as np

    draw = np.random.default_rng(7)
    starts, ends = ("furious", "quick", "even", "bold"), ("ly", " deposits", " requests", "")
    words = np.array([a + b for a in starts for b in ends])
    comments = np.array([" ".join(w) for w in words[draw.integers(0, len(words), (200_000, 4))]])

    def some(values: list[str]) -> pa.Array:
        return pa.array(np.array(values)[draw.integers(0, len(values), count)])

    def number(low: int, high: int) -> pa.Array:
        cents = np.stack([draw.integers(low, high, count), np.zeros(count, "int64")], 1)
        return pa.Array.from_buffers(
            pa.decimal128(15, 2), count, [None, pa.py_buffer(cents.tobytes())]
        )

    def day() -> pa.Array:
        return pa.array(draw.integers(8_000, 10_500, count).astype("int32")).cast(pa.date32())

    columns = [
        pa.array(np.arange(count) // 4 * 4), pa.array(draw.integers(1, 200_000, count)),
        pa.array(draw.integers(1, 10_000, count)), pa.array((np.arange(count) % 4).astype("int32")),
        number(100, 5_100), number(90_000, 10_500_000), number(0, 11), number(0, 9),
        some(["A", "N", "R"]), some(["O", "F"]), day(), day(), day(),
        some(["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]),
        some(["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]),
        pa.array(comments[draw.integers(0, len(comments), count)]),
    ]  # fmt: skip
    names = [text.split()[0] for text in COLUMNS.replace("(15, 2)", "").split(",")]
    pq.write_table(pa.table(columns, names), path, compression="zstd")


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_a_large_file_is_copied_at_the_speed_of_files(
    site: Site, tmp_path: Path, spark_config: SparkConfig
) -> None:
    path = tmp_path / "lineitem.parquet"
    _line_items(path, LINES)
    key = "PRIMARY KEY (l_orderkey, l_linenumber)"
    site.define(f"CREATE TABLE heap ({COLUMNS}); CREATE TABLE keyed ({COLUMNS}, {key});")
    running = server.status(spark_config)
    assert running.pid is not None
    processes = psutil.Process(running.pid), psutil.Process(os.getpid())

    def spent() -> float:
        return sum(sum(process.cpu_times()[:2]) for process in processes)

    spark, found = site.sessions.main, dict[str, tuple[float, float]]()
    spark.read.parquet(str(path)).limit(200_000).write.parquet(str(tmp_path / "warm"))
    with site.connect() as fm:
        for what in ("spark", "heap", "keyed"):
            before, began = spent(), time.monotonic()
            if what == "spark":
                spark.read.parquet(str(path)).write.parquet(str(tmp_path / "out"))
            else:
                assert fm.execute(f"COPY {what} FROM '{path}'").rowcount == LINES
            found[what] = (spent() - before, LINES / (time.monotonic() - began))
        print({k: f"{cpu:.1f} s, {rate:,.0f} rows/s" for k, (cpu, rate) in found.items()})
        sums = fm.execute("SELECT count(*), sum(l_quantity), max(l_comment) FROM keyed").rows
        assert fm.execute("SELECT count(*), sum(l_quantity), max(l_comment) FROM heap").rows == sums
    assert found["heap"][0] < TIMES_SPARK * found["spark"][0], found
    assert found["keyed"][0] < TIMES_SPARK * found["spark"][0], found
    # Of 500 MB of rows some pieces are held at a time.
    assert processes[1].memory_info().rss < 2**30
