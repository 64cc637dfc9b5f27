"""COPY: files into tables and queries into files; a bad row fails the whole statement."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.api import Floodmark
from floodmark.errors import FloodmarkError
from floodmark.limits import LIMITS, Limits
from tests.warehouses import Site

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, sessions: Any) -> Iterator[Floodmark]:
    """Yield one warehouse for all tests."""
    site = Site(tmp_path_factory.mktemp("copy"), sessions)
    site.define()
    with site.connect() as connection:
        connection.execute(
            "CREATE TABLE t (k INT PRIMARY KEY, g VARCHAR, v NUMERIC(10, 2) DEFAULT 7,"
            " at TIMESTAMP, js JSONB, xs INT[], w INT AS (k * 2))"
        )
        connection.execute("CREATE TABLE n (a VARCHAR)")
        yield connection


@pytest.fixture
def fm(shared: Floodmark) -> Iterator[Floodmark]:
    """Yield the connection in a transaction that is rolled back."""
    shared.execute("BEGIN")
    yield shared
    shared.execute("ROLLBACK")


def _rows(fm: Floodmark, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in fm.execute(sql).rows]


def test_csv(fm: Floodmark, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('k,g,at\n1,"a, ""b""\nc",2024-01-01 10:00\n2,,\n\n3,"",2024-01-02\n')
    told = fm.execute(f"COPY t FROM '{path}' WITH (format csv, header true)")
    assert (told.rowcount, told.status) == (3, "COPY 3")
    shown = _rows(fm, "SELECT k, g, v, at::varchar, w FROM t ORDER BY k")
    assert shown == [
        (1, 'a, "b"\nc', Decimal(7), "2024-01-01 10:00:00", 2),
        (2, None, Decimal(7), None, 4),
        (3, "", Decimal(7), "2024-01-02 00:00:00", 6),
    ]
    out = tmp_path / "out.csv"
    assert fm.execute(f"COPY t (k, g, at) TO '{out}' (header)").status == "COPY 3"
    assert out.read_text() == (
        'k,g,at\n1,"a, ""b""\nc",2024-01-01 10:00:00\n2,,\n3,"",2024-01-02 00:00:00\n'
    )
    path.write_text("9|x\n8|\\N\n")
    fm.execute(f"COPY t (k, g) FROM '{path}' WITH (delimiter '|', null '\\N')")
    assert _rows(fm, "SELECT k, g FROM t WHERE k > 7 ORDER BY k") == [(8, None), (9, "x")]
    path.write_text("\nx\n")
    fm.execute(f"COPY n FROM '{path}'")
    assert sorted(_rows(fm, "SELECT a FROM n"), key=str) == [("x",), (None,)]


@pytest.mark.parametrize("ending", ["json", "parquet", "csv"])
def test_what_goes_out_comes_in(fm: Floodmark, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    fm.execute(
        "INSERT INTO t VALUES (1, 'é\"', 1.5, '2024-01-01 10:00', '{\"a\": [1, 2.5]}',"
        " ARRAY[1, NULL]), (2, NULL, NULL, NULL, NULL, NULL)"
    )
    columns = "k, g, v, at, js, xs"
    before = _rows(fm, f"SELECT {columns} FROM t ORDER BY k")
    fm.execute(f"COPY (SELECT {columns} FROM t ORDER BY k) TO '{path}'")
    fm.execute("DELETE FROM t")
    fm.execute(f"COPY t ({columns}) FROM '{path}'")
    assert _rows(fm, f"SELECT {columns} FROM t ORDER BY k") == before
    if ending == "json":
        line = json.loads(path.read_text().split("\n")[0])
        assert (line["v"], line["js"], line["xs"]) == (1.5, {"a": [1, 2.5]}, [1, None])


@pytest.mark.parametrize(
    ("name", "text", "code", "said"),
    [
        ("a.csv", "1,x\n2,y,z\n", "E0425", ":2: 3 values for 2 columns"),
        ("a.csv", '1,"x\ny"\nno,y\n', "E0425", ":3: column \"k\": 'no' is not a value of type int"),
        ("a.csv", '1,"x\n', "E0425", ":1: column 2: a quote"),
        ("a.json", '{"k": 1}\n{"k": 1, "g": [1]}', "E0425", ':2: column "g" is character varying'),
        ("a.json", '{"k": 1}\n{"k": ', "E0425", ":2: no JSON"),
        ("a.json", '{"z": 1}', "E0425", ':1: the table has no column "z"'),
        ("a.json", "5", "E0425", ":1: a line is one JSON object"),
        ("a.parquet", "5", "E0425", "no Parquet file"),
        ("", "", "E0424", "No such file"),
    ],
)
def test_a_bad_row_fails_the_statement(
    fm: Floodmark, tmp_path: Path, name: str, text: str, code: str, said: str
) -> None:
    path = tmp_path / (name or "absent.csv")
    if name:
        path.write_text(text)
    with pytest.raises(FloodmarkError) as refused:
        fm.execute(f"COPY t (k, g) FROM '{path}'")
    assert refused.value.code == code
    assert said in refused.value.message and str(path) in refused.value.message
    assert refused.value.span is not None and refused.value.hint


def test_a_bad_row_of_parquet_is_numbered(fm: Floodmark, tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": ["1", "2", "x", "4"]}), tmp_path / "a.parquet")
    with pytest.raises(FloodmarkError, match=':3: column "k"'):
        fm.execute(f"COPY t FROM '{tmp_path}/a.parquet'")


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("COPY t FROM 'a.csv' (format xml)", "E0426"),
        ("COPY t FROM 'a.csv' (format csv, headr true)", "E0426"),
        ("COPY t FROM 'a.csv' (header maybe)", "E0426"),
        ("COPY t FROM 'a.csv' (delimiter ';;')", "E0426"),
        ("COPY t FROM 'a.json' (delimiter ';')", "E0426"),
        ("COPY t (w) FROM 'a.csv'", "E0707"),
        ("COPY t (z) TO 'a.csv'", "E0206"),
        ("COPY z FROM 'a.csv'", "E0201"),
        ("COPY t TO 'no/such/folder/a.csv'", "E0424"),
        ("COPY (SELECT 1) FROM 'a.csv'", "E0101"),
    ],
)
def test_what_copy_may_not_say(fm: Floodmark, statement: str, code: str) -> None:
    with pytest.raises(FloodmarkError) as refused:
        fm.execute(statement)
    assert refused.value.code == code


def test_many_rows_go_by_files_and_keep_their_order(
    shared: Floodmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared.warehouse, "limits", Limits(staged_file_rows=3_000))
    path, count = tmp_path / "many.parquet", LIMITS.staged_rows + 2_000
    keys = [i % 1_000 for i in range(count)]
    pq.write_table(pa.table({"k": keys, "g": [f"row {i}" for i in range(count)]}), path)
    shared.execute("CREATE TABLE many (k INT PRIMARY KEY, g VARCHAR, w INT AS (k * 2))")
    assert shared.execute(f"COPY many FROM '{path}'").status == f"COPY {count}"
    # Of two rows with one key the later one stays, whichever file it went by.
    shown = _rows(shared, "SELECT k, g, w FROM many ORDER BY k")
    assert shown == [(k, f"row {count - 1_000 + k}", 2 * k) for k in range(1_000)]
    folders = [p for p in shared.root.rglob("dml/many-*") if p.is_dir()]
    assert len(folders) == 1, "what was staged is gone, what the epoch took in is there"
    shared.execute("DROP TABLE many")
