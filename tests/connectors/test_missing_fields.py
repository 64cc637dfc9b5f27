"""Fields that no row has and fields that nothing takes: counted and told, or refused."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.api import connect
from floodmark.connectors.base import Connector, SourceSpec
from floodmark.connectors.fields import Fields, fields_of
from floodmark.connectors.registry import make_connector
from floodmark.epochs.summary import field_notes
from floodmark.errors import DataError
from floodmark.limits import LIMITS
from floodmark.scalar.types import BIGINT, TIMESTAMP, VARCHAR, Field
from tests.warehouses import NOW, Site

SCHEMA = (Field("id", BIGINT), Field("ts", TIMESTAMP), Field("v", VARCHAR))
RENAMED = [{"id": 1, "time": "2013-01-01", "v": "x"}, {"id": 2, "time": "2013-01-02", "v": "y"}]
COLUMNS = "(id BIGINT, ts TIMESTAMP, v VARCHAR)"


def deliver(folder: Path, encode: str, name: str, rows: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.{encode}"
    match encode:
        case "json":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case "csv":
            text = io.StringIO()
            writer = csv.DictWriter(text, rows[0])
            writer.writeheader()
            writer.writerows(rows)
            path.write_text(text.getvalue())
        case _:
            pq.write_table(pa.Table.from_pylist(rows), path)


def source(folder: Path, encode: str, **more: Any) -> Connector:
    options = {"connector": "files", "path": str(folder), **more.pop("options", {})}
    return make_connector(
        SourceSpec("s", SCHEMA, "PLAIN", encode.upper(), options, **more), limits=LIMITS
    )


@pytest.mark.parametrize("encode", ["json", "csv", "parquet"])
def test_what_files_lack_and_what_nobody_takes(tmp_path: Path, encode: str) -> None:
    deliver(tmp_path, encode, "0", RENAMED)
    assert fields_of(source(tmp_path, encode).discover_splits({}, 100)) == Fields(
        ("ts",), ("time",)
    )
    with_default = source(tmp_path, encode, defaulted=("ts",))
    assert fields_of(with_default.discover_splits({}, 100)) == Fields((), ("time",))
    refusing = source(tmp_path, encode, options={"on_missing": "error"})
    with pytest.raises(DataError, match="E0497") as refused:
        refusing.discover_splits({}, 100)
    assert "has no ts" in refused.value.message and "time" in (refused.value.hint or "")
    # One file that has the field is enough for the epoch.
    moment = datetime(2013, 1, 3)
    time = moment if encode == "parquet" else moment.isoformat()
    deliver(tmp_path, encode, "1", [{"ID": 3, "Ts": time, "v": "z"}])
    assert fields_of(source(tmp_path, encode).discover_splits({}, 100)).lacks == ()


@pytest.mark.parametrize(
    ("encode", "empty"), [("csv", b"id,other\n"), ("csv", b"id\n\n  \n"), ("json", b"\n  \n")]
)
def test_a_file_without_rows_says_nothing_of_rows(
    tmp_path: Path, encode: str, empty: bytes
) -> None:
    deliver(tmp_path, encode, "0", RENAMED)
    (tmp_path / f"1.{encode}").write_bytes(empty)
    splits = source(tmp_path, encode).discover_splits({}, 100)
    assert len(splits) == 2 and splits[1].start == splits[1].end
    assert fields_of(splits) == Fields(("ts",), ("time",))
    assert fields_of(splits[1:]) == Fields()


def test_a_parquet_file_without_rows_says_nothing_of_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"foo": [1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), tmp_path / "1.parquet")
    assert fields_of(source(tmp_path, "parquet").discover_splits({}, 100)) == Fields()
    (tmp_path / "0.parquet").unlink()
    with pytest.raises(DataError, match="E0497"):
        source(tmp_path, "parquet", options={"on_missing": "error"}).discover_splits({}, 100)


@pytest.mark.parametrize("encode", ["json", "csv", "parquet"])
def test_a_file_of_other_columns_is_refused_where_that_is_wanted(
    tmp_path: Path, encode: str
) -> None:
    deliver(tmp_path, encode, "0", [{"foo": 1}])
    with pytest.raises(DataError, match=r"E0497.*has no id, ts, v"):
        source(tmp_path, encode, options={"on_missing": "error"}).discover_splits({}, 100)


def test_the_log_has_no_more_where_all_fits(tmp_path: Path) -> None:
    deliver(tmp_path, "json", "0", [{"id": 1, "ts": None, "v": "x"}])
    (split,) = source(tmp_path, "json").discover_splits({}, 100)
    assert split.payload.keys() == {"file", "size", "mtime", "digest"}


def test_a_format_that_is_left_out_is_told(tmp_path: Path) -> None:
    with connect(tmp_path / "warehouse", project=tmp_path) as fm:
        said = fm.execute(f"CREATE SOURCE s {COLUMNS} WITH (connector = 'files', path = 'in')")
        assert "JSON lines" in " ".join(said.notices)
        said = fm.execute("CREATE SOURCE t (a INT) WITH (connector = 'files', path = 'in') "
                          "FORMAT PLAIN ENCODE CSV")  # fmt: skip
        assert not said.notices


@pytest.mark.spark
def test_a_renamed_field_is_told_by_the_run_and_the_doctor(site: Site) -> None:
    encodes = ("json", "csv", "parquet")
    site.define(*(
        f"CREATE SOURCE of_{e} {COLUMNS} WITH (connector = 'files', path = '{{landing}}/{e}') "
        f"FORMAT PLAIN ENCODE {e.upper()};" for e in encodes
    ))  # fmt: skip
    for encode in encodes:
        deliver(site.landing / encode, encode, "0", RENAMED)
    # A key that only a later row has: the first hundred lines say nothing of it.
    site.define(
        (site.pipelines / "all.sql").read_text(),
        f"""
        CREATE SOURCE late_key {COLUMNS} WITH (connector = 'files', path = '{{landing}}/late')
        FORMAT PLAIN ENCODE JSON;""",
    )
    # Whoever takes them in: by key, as a table, through a transformation that drops the column.
    takers = {"keyed": "SOURCE keyed (id BIGINT PRIMARY KEY, {c}) {w} FORMAT UPSERT ENCODE JSON",
              "filed": "TABLE filed (id BIGINT PRIMARY KEY, {c}) {w} FORMAT PLAIN ENCODE JSON",
              "made": "SOURCE made (id BIGINT, {c}) {w} FORMAT PLAIN ENCODE JSON "
                      "TRANSFORM USING (SELECT id, v FROM made WHERE id > 1)"}  # fmt: skip
    place = "WITH (connector = 'files', path = '{landing}/json')"
    site.define(
        (site.pipelines / "all.sql").read_text(),
        *(f"CREATE {text.format(c='ts TIMESTAMP, v VARCHAR', w=place)};"
          for text in takers.values()),
    )  # fmt: skip
    later = [{"id": i, "v": "x"} for i in range(200)] + [{"id": 200, "ts": "2013-01-01", "v": "x"}]
    deliver(site.landing / "late", "json", "0", later)
    with site.connect() as fm:
        (epoch,) = fm.advance(now=NOW)
        assert set(epoch.notices) == {
            f"{name}: ts is in none of 2 rows; the rows have id, time, v"
            for name in (*(f"of_{e}" for e in encodes), *takers)
        }
        assert len(field_notes(epoch.objects, fm.deployed.pipeline)) == 6
        found = fm.status()
        assert found["of_csv"].lacking == ("ts",) and found["of_csv"].unused == ("time",)


@pytest.mark.spark
def test_what_is_read_is_told_whatever_is_kept(site: Site) -> None:
    place = "WITH (connector = 'files', path = '{landing}/FOLDER') FORMAT PLAIN ENCODE JSON"
    upserted = place.replace("FOLDER", "renamed").replace("PLAIN", "UPSERT")
    keyed = "id BIGINT PRIMARY KEY, ts TIMESTAMP, v VARCHAR"
    site.define(
        f"CREATE SOURCE left_out ({keyed}) {upserted} "
        "TRANSFORM USING (SELECT id, v FROM left_out WHERE id > 5);",
        f"CREATE SOURCE made_of ({keyed}) {upserted} "
        "TRANSFORM USING (SELECT id, v || '!' AS v FROM made_of);",
        "CREATE SOURCE dead (id BIGINT NOT NULL, ts TIMESTAMP, v VARCHAR) "
        f"{place.replace('FOLDER', 'dead')};",
        f"CREATE SOURCE unparsed {COLUMNS} {place.replace('FOLDER', 'unparsed')};",
    )
    deliver(site.landing / "renamed", "json", "0", RENAMED)
    # That rows have the field is seen behind the first hundred lines, and none of them is kept.
    first: list[dict[str, Any]] = [{"id": None, "v": "x"}] * 150
    deliver(site.landing / "dead", "json", "0", [*first, {"id": None, "ts": "2013-01-01"}])
    first = [{"id": "abc", "v": "x"}] * 150
    deliver(site.landing / "unparsed", "json", "0", [*first, {"id": 1, "ts": "abc"}])
    with site.connect() as fm:
        (epoch,) = fm.advance(now=NOW)
        assert set(epoch.notices) == {
            f"{name}: ts is in none of 2 rows; the rows have id, time, v"
            for name in ("left_out", "made_of")
        }
        assert epoch.objects["dead"].dead_rows == epoch.objects["unparsed"].dead_rows == 151
