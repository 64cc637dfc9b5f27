"""How large the queries of an epoch are, in which all inputs of a view change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from google.protobuf.message import Message
from pyspark.sql.connect.client.core import SparkConnectClient

from floodmark import failpoints
from floodmark.api import Floodmark
from floodmark.errors import TransientError
from floodmark.spark.plan_size import words
from tests.warehouses import Site, differing, replay_all, visible

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_alone")]

Size = tuple[int, int]
"""Nodes, and characters of text, of a query."""
NODES, TEXT, FIXED = 40, 200, 4
"""A query over n inputs has at most so many nodes and characters times the square of n and what an
operator has over no input: docs/adr/0019."""


def _joined(how: str, condition: str = "") -> Callable[[int], str]:
    def text(n: int) -> str:
        columns = ", ".join(f"t{i}.v / t{i}.k AS v{i}" for i in range(n))
        joins = "".join(
            f" {how} JOIN t{i} ON t0.k = t{i}.k{condition.format(i=i)}" for i in range(1, n)
        )
        return f"SELECT t0.k, {columns} FROM t0{joins}"

    return text


def _united(n: int) -> str:
    return " UNION ALL ".join(f"SELECT k, v / k AS v FROM t{i}" for i in range(n))


def _summed(n: int) -> str:
    sums = ", ".join(f"sum(CASE WHEN k = {i} THEN v * w ELSE 0 END) AS s{i}" for i in range(n))
    below = " UNION ALL ".join(f"SELECT k, v, w FROM t{i}" for i in range(n))
    return f"SELECT k, {sums} FROM ({below}) x GROUP BY k"


def _summed_twice(n: int) -> str:
    sums = ", ".join(f"sum(s{i} / k) AS s{i}" for i in range(n))
    return f"SELECT k, {sums} FROM ({_summed(n)}) y GROUP BY k ORDER BY k LIMIT 3"


def _summed_joins(n: int) -> str:
    sums = ", ".join(f"sum(t{i}.v) AS s{i}" for i in range(n))
    joins = "".join(f" LEFT JOIN t{i} ON t0.k = t{i}.k AND t{i}.w > 0" for i in range(1, n))
    return f"SELECT t0.k, {sums}, max(t0.w) AS w FROM t0{joins} GROUP BY t0.k"


SHAPES = {
    "inner": _joined("INNER"),
    "left": _joined("LEFT"),
    "left_on": _joined("LEFT", " AND t{i}.v / t0.v > 0"),
    "full": _joined("FULL"),
    "unions": _united,
    "sums": _summed,
    "sums_of_sums": _summed_twice,
}
DAILY = (("left_on", 4), ("sums_of_sums", 4))


@contextmanager
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Size]]:
    """Yield the sizes of the queries that are sent inside."""
    sizes: list[Size] = []
    execute = SparkConnectClient._execute

    def counting(self: SparkConnectClient, request: Any) -> None:
        sizes.append(_size(request.plan))
        execute(self, request)

    with monkeypatch.context() as patch:
        patch.setattr(SparkConnectClient, "_execute", counting)
        patch.setattr(SparkConnectClient, "_execute_and_fetch_as_iterator", _fetching(sizes))
        yield sizes


def _fetching(sizes: list[Size]) -> Callable[..., Any]:
    fetch = SparkConnectClient._execute_and_fetch_as_iterator

    def counting(self: SparkConnectClient, request: Any, *rest: Any, **named: Any) -> Any:
        sizes.append(_size(request.plan))
        return fetch(self, request, *rest, **named)

    return counting


def _size(message: Message) -> Size:
    """Return the relations and expressions of a plan with the words of its texts; their length."""
    nodes, text, waiting = 0, 0, [message]
    while waiting:
        each = waiting.pop()
        nodes += each.DESCRIPTOR.name in ("Relation", "Expression")
        for field, value in each.ListFields():
            if field.name == "expression" and isinstance(value, str):
                nodes, text = nodes + words(value), text + len(value)
            elif field.type == field.TYPE_MESSAGE and not field.message_type.GetOptions().map_entry:
                waiting.extend(value if field.is_repeated else [value])
    return nodes, text


def _prepared(site: Site, n: int, *more: str) -> None:
    tables = (f"CREATE TABLE t{i} (k INT PRIMARY KEY, v INT, w NUMERIC(7,2));" for i in range(n))
    site.define(*tables, *more)


def _changed(fm: Floodmark, n: int, statement: str) -> None:
    fm.execute("BEGIN")
    for i in range(n):
        fm.execute(statement.format(i=i))
    fm.execute("COMMIT")
    list(fm.advance())


FILL = "INSERT INTO t{i} VALUES (1, {i}, 1.5), (2, 2, 2.5), (3, NULL, NULL)"
CHANGE = "INSERT INTO t{i} VALUES (2, {i} + 1, 3.5), (3, 3, 1), (4, {i}, 4)"


def _largest(site: Site, shape: str, n: int, patch: pytest.MonkeyPatch) -> Size:
    """Return the most nodes and characters that a query has of an epoch that changes all inputs."""
    _prepared(site, n)
    with site.connect() as fm:
        fm.execute(f"CREATE MATERIALIZED VIEW v AS {SHAPES[shape](n)}")
        _changed(fm, n, FILL)
        with sent(patch) as sizes:
            _changed(fm, n, CHANGE)
    return max(nodes for nodes, _ in sizes), max(text for _, text in sizes)


@pytest.mark.parametrize(
    ("shape", "n"),
    [
        pytest.param(shape, n, marks=[] if (shape, n) in DAILY else [pytest.mark.long])
        for shape in SHAPES
        for n in (2, 4, 8, 16)
    ],
)
def test_a_query_has_so_many_nodes_times_the_square_of_its_inputs(
    site: Site, shape: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes, text = _largest(site, shape, n, monkeypatch)
    assert nodes <= NODES * (n + FIXED) ** 2
    assert text <= TEXT * (n + FIXED) ** 2


def test_a_query_above_the_setting_is_split_into_smaller_ones(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest, queries, found = [], [], []
    for most in (100_000, 300):
        at = Site(site.root / f"{most}", site.sessions)
        at.root.mkdir()
        _prepared(at, 5, f"SET plan_nodes = {most};")
        with at.connect() as fm:
            fm.execute(f"CREATE MATERIALIZED VIEW v AS {SHAPES['inner'](5)}")
            _changed(fm, 5, FILL)
            with sent(monkeypatch) as sizes:
                _changed(fm, 5, CHANGE)
        assert not _put_aside(at.root), "what was written of a query goes with its epoch"
        largest.append(max(nodes for nodes, _ in sizes))
        queries.append(len(sizes))
        found.append(visible(at.root / "warehouse", "v"))
    assert largest[1] < largest[0]
    assert queries[1] > queries[0]
    assert found[1] == found[0] != []


def test_what_another_attempt_has_written_of_a_query_is_not_read(site: Site) -> None:
    _dead_amid_parts(site)
    with site.connect() as fm:
        list(fm.advance())
        assert visible(site.root / "warehouse", "v") == sorted(fm.execute(_summed_joins(3)).rows)
        assert not _put_aside(site.root)
        assert differing(replay_all(fm)) == []


@pytest.mark.long
def test_an_epoch_killed_amid_the_parts_of_a_query_is_finished_by_the_next(site: Site) -> None:
    _dead_amid_parts(site)
    for times in (1, 3):
        known = {path.parent for path in _parts(site.root)}
        process = site.start()
        while len({path.parent for path in _parts(site.root)} - known) < times:
            assert process.runs()
        process.kill()
        process.ended()
    site.kill_at("files_written")
    ended = site.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    with site.connect() as fm:
        assert visible(site.root / "warehouse", "v") == sorted(fm.execute(_summed_joins(3)).rows)
        assert not _put_aside(site.root)
        assert differing(replay_all(fm)) == []


def _dead_amid_parts(site: Site) -> None:
    """Leave an epoch whose attempt has written parts of a query, which nobody can read."""

    def die(_: str) -> None:
        if _parts(site.root):
            raise TransientError("E0515", "killed")

    _prepared(site, 3, "SET plan_nodes = 1;")
    with site.connect() as fm:
        fm.execute(f"CREATE MATERIALIZED VIEW v AS {_summed_joins(3)}")
        _changed(fm, 3, FILL)
        assert not _put_aside(site.root)
        with mock.patch.object(failpoints, "reach", die), pytest.raises(TransientError):
            _changed(fm, 3, CHANGE)
    for path in _parts(site.root):
        path.write_bytes(b"of another attempt")


def _parts(root: Path) -> list[Path]:
    """Return the files of rows at rest that were written on the way."""
    return list(root.glob("warehouse/_state/public/v/*_rows*/*/*.parquet"))


def _put_aside(root: Path) -> list[Path]:
    """Return the folders below the states of objects that are no tables."""
    folders = root.glob("warehouse/_state/*/*/*")
    return [f for f in folders if not (f / "_delta_log").is_dir()]
