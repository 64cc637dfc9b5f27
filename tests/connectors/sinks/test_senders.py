"""What sinks write, from changes at rest, without Spark; and that it is read back as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from floodmark.connectors.copy.file import CopyFile
from floodmark.connectors.copy.rows import read_rows
from floodmark.connectors.registry import sender_of
from floodmark.connectors.sinks.identity import SinkIdentity
from floodmark.connectors.sinks.sender import Sender
from floodmark.connectors.sinks.sink_batch import SinkBatch
from floodmark.errors import FloodmarkError
from floodmark.limits import LIMITS, Limits
from floodmark.spark.user_functions import arrow_type, to_arrow
from floodmark.storage.files.statistics import read_footer
from floodmark.stream.objects.external_sink import ExternalSink
from tests.program_reference import compile_sql

TABLE = "CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR);"
Change = tuple[Any, ...]


class Place:
    """A sink over a table, and the changes that are given to it."""

    def __init__(self, folder: Path, options: str, format_: str = "", table: str = TABLE) -> None:
        self.folder = folder
        self.out = folder / "out"
        sql = f"{table} CREATE SINK f FROM t WITH ({options}, path = '{self.out}') {format_};"
        self.pipeline = compile_sql(sql)
        self.found = self.pipeline["sink:f"]

    @property
    def outside(self) -> ExternalSink:
        assert self.found.external_sink is not None
        return self.found.external_sink

    @property
    def sender(self) -> Sender:
        return sender_of(self.found, "seed", limits=LIMITS)

    def outgoing(self, epoch: int, changes: Sequence[Change]) -> SinkBatch:
        columns = self.pipeline["t"].relation.columns
        path = self.folder / f"changes-{epoch}.parquet"
        rows = list(zip(*changes, strict=True)) or [[] for _ in range(len(columns) + 1)]
        arrays = [pa.repeat(pa.scalar(epoch, pa.int64()), len(changes)), pa.array(rows[0])]
        for field, values in zip(columns, rows[1:], strict=True):
            told = [to_arrow(v, field.type) for v in values]
            arrays.append(pa.array(told, arrow_type(field.type)))
        names = ["__epoch", "__kind", *(f.name for f in columns)]
        pq.write_table(pa.table(arrays, names=names), path)
        key = tuple(f for f in columns if f.name in self.pipeline["t"].relation.stream_key)
        return SinkBatch(
            epoch, [(read_footer(str(path), path.name), str(path))], order=key, piece=9
        )

    def send(self, epoch: int, *changes: Change, begins: bool = False) -> int:
        return self.sender.send(epoch, self.outgoing(epoch, changes), initial=begins)

    @property
    def files(self) -> dict[str, str]:
        return {p.name: p.read_text() for p in sorted(self.out.glob("f-*"))}

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        rows = DeltaTable(str(self.out)).to_pyarrow_table().to_pylist()
        return sorted(tuple(row.values()) for row in rows)


FIRST: tuple[Change, ...] = (("+I", 1, "a"), ("+I", 2, "b"))
SECOND: tuple[Change, ...] = (("-U", 1, "a"), ("+U", 1, "c"), ("-D", 2, "b"), ("+I", 3, None))


def test_retract_writes_every_change(tmp_path: Path) -> None:
    place = Place(tmp_path, "connector = 'files', type = 'retract'", "FORMAT PLAIN ENCODE JSON")
    assert place.send(1, *FIRST, begins=True) == 2
    assert place.send(2, *SECOND) == 4
    first, second = place.files.items()
    assert first == (
        "f-0000000001-00000.json",
        '{"op": "+I", "k": 1, "v": "a"}\n{"op": "+I", "k": 2, "v": "b"}\n',
    )
    assert second == (
        "f-0000000002-00000.json",
        '{"op": "-U", "k": 1, "v": "a"}\n{"op": "+U", "k": 1, "v": "c"}\n'
        '{"op": "-D", "k": 2, "v": "b"}\n{"op": "+I", "k": 3, "v": null}\n',
    )


def test_upsert_writes_the_last_row_of_a_key(tmp_path: Path) -> None:
    place = Place(tmp_path, "connector = 'files', type = 'upsert'", "FORMAT PLAIN ENCODE CSV")
    place.send(1, *FIRST, begins=True)
    place.send(2, *SECOND)
    assert place.files["f-0000000002-00000.csv"] == "op,k,v\n+U,1,c\n-D,2,b\n+U,3,\n"


def test_upsert_by_another_key_keeps_one_row_of_it(tmp_path: Path) -> None:
    options = "connector = 'files', type = 'upsert', primary_key = 'v'"
    place = Place(tmp_path, options, "FORMAT PLAIN ENCODE JSON")
    place.send(1, ("+I", 2, "a"), ("+I", 1, "a"), ("-D", 3, "a"), ("-D", 4, "b"), begins=True)
    assert place.files["f-0000000001-00000.json"] == (
        '{"op": "-D", "k": 4, "v": "b"}\n{"op": "+U", "k": 2, "v": "a"}\n'
    )


def test_forced_rows_have_no_kind(tmp_path: Path) -> None:
    options = "connector = 'files', type = 'append-only', force_append_only = 'true'"
    place = Place(tmp_path, options, "FORMAT PLAIN ENCODE JSON")
    place.send(2, *SECOND, begins=True)
    assert place.files["f-0000000002-00000.json"] == '{"k": 1, "v": "c"}\n{"k": 3, "v": null}\n'


def test_parts_have_so_many_rows_and_a_second_try_writes_the_same(tmp_path: Path) -> None:
    options = "connector = 'files', type = 'retract', rows_per_file = 2"
    place = Place(tmp_path, options, "FORMAT PLAIN ENCODE CSV")
    rows = [("+I", i, str(i)) for i in range(5)]
    (place.out).mkdir()
    left = place.out / ".f-0000000007-00001.csv.x.tmp"
    left.write_text("half")
    for _ in range(2):
        assert place.send(7, *rows, begins=True) == 5
        assert list(place.files) == [f"f-0000000007-{i:05}.csv" for i in range(3)]
        assert place.files["f-0000000007-00002.csv"] == "op,k,v\n+I,4,4\n"
    assert not left.exists() and not list(place.out.glob(".*"))


def test_an_epoch_without_rows_has_no_file(tmp_path: Path) -> None:
    place = Place(tmp_path, "connector = 'files', type = 'retract'", "FORMAT PLAIN ENCODE JSON")
    assert place.send(1, begins=True) == 0 and not place.files
    mark = json.loads((place.out / "_sink.json").read_text())
    assert (mark["sink"], mark["begins"], mark["type"]) == ("f", 1, "retract")


def test_a_folder_belongs_to_one_sink(tmp_path: Path) -> None:
    place = Place(tmp_path, "connector = 'files', type = 'retract'", "FORMAT PLAIN ENCODE JSON")
    place.send(1, *FIRST, begins=True)
    place.sender.check()
    with pytest.raises(FloodmarkError) as refused:
        sender_of(place.found, "another seed", limits=LIMITS).check()
    assert refused.value.code == "E0742" and refused.value.hint


@pytest.mark.parametrize("connector", ["files", "delta"])
def test_what_cannot_be_written_to_is_out_of_reach(tmp_path: Path, connector: str) -> None:
    format_ = "FORMAT PLAIN ENCODE JSON" if connector == "files" else ""
    place = Place(tmp_path, f"connector = '{connector}', type = 'retract'", format_)
    place.out.write_text("a file")
    for do in (place.sender.check, lambda: place.send(1, *FIRST, begins=True)):
        with pytest.raises(FloodmarkError) as refused:
            do()
        assert refused.value.code == "E0741" and str(place.out) in refused.value.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_permissions_count(tmp_path: Path) -> None:
    place = Place(tmp_path, "connector = 'files', type = 'retract'", "FORMAT PLAIN ENCODE JSON")
    place.out.mkdir(mode=0o500)
    with pytest.raises(FloodmarkError, match="no permission"):
        place.sender.check()


VALUES = """CREATE TABLE t (k INT PRIMARY KEY, b BOOLEAN, s SMALLINT, l BIGINT, n NUMERIC(20, 4),
    r REAL, d DOUBLE PRECISION, v VARCHAR, y BYTEA, da DATE, ti TIME, ts TIMESTAMP, tz TIMESTAMPTZ,
    j JSONB, u UUID, i INTERVAL {more});"""
NESTED = ", a INT[], av VARCHAR[], st STRUCT<x INT, y VARCHAR>, at TIMESTAMP[]"
UUID = "6b9a1c4e-0000-4000-8000-00000000000a"
ROWS: list[Change] = [
    ("+I", 1, True, -5, 2**60, Decimal("-12.3400"), 0.5, 1e-300, 'a "b", c', b"\x00\xff",
     date(2020, 2, 29), 86_399_999_999, datetime(2020, 1, 1, 0, 0, 0, 1),
     datetime(1969, 12, 31, tzinfo=UTC), '{"a":[1,null]}', UUID, (1, 2, 3)),
    ("+I", 2, False, 0, 0, Decimal("0.0001"), float("inf"), float("nan"), "", b"",
     date(1, 1, 1), 0, datetime(9999, 12, 31), datetime(2020, 1, 1, tzinfo=UTC),
     '"x"', UUID, (0, 0, 0)),
    ("+I", 3, *[None] * 15),
    ("+I", 4, None, None, None, None, -0.0, 0.1, "NULL ünï \\ \t'", b"a", None, None, None, None,
     "1", None, (-1, 0, 0)),
]  # fmt: skip
MORE: list[tuple[Any, ...]] = [
    ((1, None), ("x,y", "", None), (1, "z"), (datetime(2020, 1, 1, 1),)),
    ((), (), (None, None), ()),
    (None, None, None, None),
    ((), None, (0, ""), None),
]


@pytest.mark.parametrize("encode", ["json", "csv", "parquet"])
def test_copy_reads_back_what_is_written(tmp_path: Path, encode: str) -> None:
    nested = encode != "csv"
    place = Place(
        tmp_path,
        "connector = 'files', type = 'retract'",
        f"FORMAT PLAIN ENCODE {encode.upper()}",
        VALUES.format(more=NESTED if nested else ""),
    )
    rows = [(*r, *m) if nested else r for r, m in zip(ROWS, MORE, strict=True)]
    assert place.send(1, *rows, begins=True) == 4
    types = {f.name: f.type for f in place.outside.written_columns}
    (path,) = place.out.glob("f-*")
    found = read_rows(CopyFile(path, encode, encode == "csv", limits=LIMITS), types, [])
    wanted = next(place.outgoing(1, rows).rows(place.outside))
    assert found.column_names == wanted.column_names
    for name in wanted.column_names:
        assert repr(found.column(name).to_pylist()) == repr(wanted.column(name).to_pylist()), name


def test_a_delta_table_gets_one_commit_per_epoch(tmp_path: Path) -> None:
    place = Place(tmp_path, "connector = 'delta', type = 'retract'")
    assert place.send(1, *FIRST, begins=True) == 2
    assert place.send(2, *SECOND) == 4
    assert place.send(2, *SECOND) == 4
    assert place.send(3) == 0
    assert DeltaTable(str(place.out)).version() == 2
    assert [r[0] for r in place.rows] == ["+I", "+I", "+I", "+U", "-D", "-U"]
    app = SinkIdentity("f", "seed").app
    assert DeltaTable(str(place.out)).transaction_version(app) == 2


def test_a_delta_table_keeps_the_row_of_a_key(tmp_path: Path) -> None:
    place = Place(tmp_path, "connector = 'delta', type = 'upsert'")
    place.send(4, *FIRST, begins=True)
    for _ in range(2):
        place.send(5, *SECOND)
        rows = sorted(
            (r["k"], r["v"]) for r in DeltaTable(str(place.out)).to_pyarrow_table().to_pylist()
        )
        assert rows == [(1, "c"), (3, None)]
    place.send(6, ("-D", 1, "c"), ("-D", 3, None))
    assert DeltaTable(str(place.out)).to_pyarrow_table().num_rows == 0


def test_a_sink_that_begins_anew_replaces_its_rows(tmp_path: Path) -> None:
    place = Place(tmp_path, "connector = 'delta', type = 'upsert'")
    place.send(4, *FIRST, begins=True)
    place.send(9, ("+I", 7, "x"), begins=True)
    assert DeltaTable(str(place.out)).to_pyarrow_table().to_pylist() == [{"k": 7, "v": "x"}]


def test_rows_of_others_stay_where_their_keys_do_not_come(tmp_path: Path) -> None:
    import deltalake

    place = Place(tmp_path, "connector = 'delta', type = 'upsert'")
    rows = pa.table(
        {"k": pa.array([1, 9], pa.int32()), "v": pa.array(["old", "kept"], pa.large_string())}
    )
    deltalake.write_deltalake(str(place.out), rows)
    place.sender.check()
    place.send(1, *FIRST, begins=True)
    table = DeltaTable(str(place.out)).to_pyarrow_table()
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == [
        (1, "a"),
        (2, "b"),
        (9, "kept"),
    ]


def test_others_that_write_in_between_are_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import deltalake

    from floodmark.storage.delta.elsewhere import DeltaElsewhere

    place = Place(tmp_path, "connector = 'delta', type = 'upsert'")
    place.send(1, *FIRST, begins=True)
    commit, others = DeltaElsewhere.commit, [pa.table({"k": pa.array([8], pa.int32()), "v": ["y"]})]

    def between(self: DeltaElsewhere, *args: Any, **named: Any) -> Any:
        while others:
            deltalake.write_deltalake(str(place.out), others.pop(), mode="append")
        return commit(self, *args, **named)

    monkeypatch.setattr(DeltaElsewhere, "commit", between)
    place.send(2, *SECOND)
    table = DeltaTable(str(place.out)).to_pyarrow_table()
    assert sorted(table.column("k").to_pylist()) == [1, 3, 8]


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (pa.table({"k": pa.array([1], pa.int64()), "v": ["x"]}), "E0743"),
        (pa.table({"v": ["x"], "k": pa.array([1], pa.int32())}), "E0743"),
    ],
)
def test_a_table_with_other_columns_is_refused(tmp_path: Path, made: pa.Table, code: str) -> None:
    import deltalake

    place = Place(tmp_path, "connector = 'delta', type = 'upsert'")
    deltalake.write_deltalake(str(place.out), made)
    with pytest.raises(FloodmarkError) as refused:
        place.sender.check()
    assert refused.value.code == code and "k" in (refused.value.detail or "")


@pytest.mark.parametrize("property_", ["delta.enableChangeDataFeed", "delta.appendOnly"])
def test_a_table_that_asks_for_more_is_refused(tmp_path: Path, property_: str) -> None:
    import deltalake

    made = pa.table({"k": pa.array([1], pa.int32()), "v": ["x"]})
    place = Place(tmp_path, "connector = 'delta', type = 'upsert'")
    deltalake.write_deltalake(str(place.out), made, configuration={property_: "true"})
    with pytest.raises(FloodmarkError) as refused:
        place.sender.check()
    assert refused.value.code == "E0744"


def test_a_folder_with_files_is_no_delta_table(tmp_path: Path) -> None:
    place = Place(tmp_path, "connector = 'delta', type = 'retract'")
    place.out.mkdir()
    (place.out / "x.csv").write_text("a")
    with pytest.raises(FloodmarkError) as refused:
        place.sender.check()
    assert refused.value.code == "E0744"


def test_a_file_has_no_more_rows_than_the_warehouse_says(tmp_path: Path) -> None:
    """Unless the sink's own rows_per_file says otherwise."""
    for name, option, files in (("a", "", 2), ("b", ", rows_per_file = 2", 1)):
        (tmp_path / name).mkdir()
        place = Place(
            tmp_path / name,
            f"connector = 'files'{option}, type = 'retract'",
            "FORMAT PLAIN ENCODE JSON",
        )
        sender = sender_of(place.found, "seed", Limits(sink_file_rows=1))
        assert sender.send(1, place.outgoing(1, FIRST), initial=True) == 2
        assert len(place.files) == files
