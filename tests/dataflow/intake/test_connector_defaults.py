"""DEFAULTs of rows that a connector brings without a column; the values are those of INSERT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import floodmark
from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark
COLUMNS = "id INT PRIMARY KEY, d INT DEFAULT 3, e VARCHAR NOT NULL DEFAULT 'x', g INT AS (d * 2)"
FORMS = {
    "plain": "FORMAT PLAIN ENCODE JSON",
    "upsert": "FORMAT UPSERT ENCODE JSON",
    "debezium": "FORMAT DEBEZIUM ENCODE JSON",
    "csv": "FORMAT PLAIN ENCODE CSV",
    "parquet": "FORMAT PLAIN ENCODE PARQUET",
}
PLAIN = (
    '{"id": 1}\n{"id": 2, "d": null, "e": "y"}\n{"id": 3, "D": 7, "e": "z"}\n{"id": 4, "e": null}\n'
)
UPSERT = """\
{"id": 1}
{"key": {"id": 2}, "value": {"d": null, "e": "y"}}
{"key": {"id": 3}, "value": {"id": 3, "D": 7, "e": "z"}}
{"key": {"id": 4}, "value": {"e": null}}
{"key": {"id": 5}, "value": {"e": "gone"}}
{"key": {"id": 5}, "value": null}
"""
DEBEZIUM = """\
{"op": "c", "before": null, "after": {"id": 1}}
{"payload": {"op": "c", "before": null, "after": {"id": 2, "d": null, "e": "y"}}}
{"op": "u", "before": null, "after": {"id": 3, "D": 7, "e": "z"}}
{"payload": {"op": "c", "before": null, "after": {"id": 4, "e": null}}}
{"op": "d", "before": {"id": 5}, "after": null}
"""
WANTED = [(1, 3, "x", 6), (2, None, "y", None), (3, 7, "z", 14)]


def _deliver(folder: Path, form: str) -> None:
    folder.mkdir()
    if form == "csv":
        (folder / "1.csv").write_text("id\n1\n")
        (folder / "2.csv").write_text("e,d,id\ny,,2\nz,7,3\n,4,4\n")
    elif form == "parquet":
        pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), folder / "1.parquet")
        rows: dict[str, Any] = {
            "id": pa.array([2], pa.int32()),
            "d": pa.nulls(1),
            "e": pa.array(["y"]),
        }
        pq.write_table(pa.table(rows), folder / "2.parquet")
        rows |= {"id": pa.array([3], pa.int32()), "d": pa.array([7], pa.int32())}
        pq.write_table(pa.table(rows | {"e": pa.array(["z"])}), folder / "3.parquet")
        rows = {"id": pa.array([4], pa.int32()), "e": pa.array([None], pa.string())}
        pq.write_table(pa.table(rows), folder / "4.parquet")
    else:
        lines = {"plain": PLAIN, "upsert": UPSERT, "debezium": DEBEZIUM}[form]
        (folder / "1.json").write_text(lines)


@pytest.mark.parametrize("form", FORMS)
def test_what_a_row_lacks_takes_its_default(form: str, tmp_path: Path, sessions: Sessions) -> None:
    _deliver(tmp_path / "land", form)
    options = f"WITH (connector = 'files', path = '{tmp_path / 'land'}') {FORMS[form]}"
    fm = floodmark.connect(tmp_path / "w", sessions=lambda: sessions)
    fm.execute(f"CREATE TABLE t ({COLUMNS}) {options}")
    list(fm.advance())
    assert sorted(fm.execute("SELECT id, d, e, g FROM t").rows) == WANTED
    dead = fm.execute("SELECT expression FROM t__dead_letter").rows
    assert len(dead) == 1 and "e NOT NULL" in str(dead[0])


def test_defaults_of_sources_functions_and_errors(tmp_path: Path, sessions: Sessions) -> None:
    land = tmp_path / "land"
    land.mkdir()
    (land / "1.json").write_text('{"id": 1}\n{"id": 2, "u": null, "z": 0}\n{"id": 3, "z": 1}\n')
    options = f"WITH (connector = 'files', path = '{land}') FORMAT PLAIN ENCODE JSON"
    fm = floodmark.connect(tmp_path / "w", sessions=lambda: sessions)
    columns = "id INT, u UUID DEFAULT gen_random_uuid(), at TIMESTAMPTZ DEFAULT now()"
    fm.execute(f"CREATE SOURCE s ({columns}, z INT DEFAULT 1 / (length('') + 0)) {options}")
    list(fm.advance())
    rows = sorted(fm.execute("SELECT id, u, at, z FROM s").rows)
    assert [row[0] for row in rows] == [2, 3]
    assert rows[0][1] is None and rows[1][1] is not None
    assert all(row[2] is not None for row in rows)
    dead = fm.execute("SELECT expression FROM s__dead_letter").rows
    assert len(dead) == 1 and "z DEFAULT" in str(dead[0])


def test_a_column_that_is_added_later(tmp_path: Path, sessions: Sessions) -> None:
    land = tmp_path / "land"
    land.mkdir()
    (land / "1.json").write_text('{"id": 1}\n')
    options = f"WITH (connector = 'files', path = '{land}') FORMAT PLAIN ENCODE JSON"
    fm = floodmark.connect(tmp_path / "w", sessions=lambda: sessions)
    fm.execute(f"CREATE TABLE t (id INT PRIMARY KEY) {options}")
    list(fm.advance())
    fm.execute("ALTER TABLE t ADD COLUMN extra INT DEFAULT 3")
    (land / "2.json").write_text('{"id": 2}\n{"id": 3, "extra": null}\n')
    list(fm.advance())
    assert sorted(fm.execute("SELECT id, extra FROM t").rows) == [(1, 3), (2, 3), (3, None)]
