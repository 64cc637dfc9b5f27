"""Times outside of the years 1 to 9999 come in from nowhere, however deep they lie in a value."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from floodmark.connectors.files.faults import _read_failure
from floodmark.spark.session import Sessions
from tests.warehouses import NOW, Site

COLUMNS = (
    "(id INT, a TIMESTAMP[], s STRUCT<t TIMESTAMP, d DATE>, m MAP(VARCHAR, DATE), n TIMESTAMPTZ)"
)
KEYED = "(id INT PRIMARY KEY, a TIMESTAMP[], s STRUCT<t TIMESTAMP, d DATE>, n TIMESTAMPTZ)"
SOURCE = """
CREATE SOURCE of_{name} {columns} WITH (connector = 'files', path = '{{landing}}/{name}')
FORMAT {form};
"""
WITHIN = {
    "a": ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"],
    "s": {"t": "9999-12-31T00:00:00", "d": "0001-01-01"},
    "m": {"x": "9999-12-31"},
    "n": "2013-01-01T00:00:00Z",
}
OUTSIDE = [
    *({"a": [text]} for text in ("0000-01-01 00:00:00", "+10000-01-01 00:00:00", "-0005-01-01",
                                 "99999-01-01", "infinity", "9999-12-31T23:59:59-10:00")),
    *({"s": {"t": text}} for text in ("+12000-01-01T00:00:00", "now")),
    *({"s": {"d": text}} for text in ("0000-01-01", "+10000-01-01", "99999-01-01")),
    *({"m": {"x": text}} for text in ("0000-12-31", "10000-01-01")),
    *({"n": text} for text in ("infinity", "-infinity", "-2013-01-01", "0000-12-31 23:59:59-23",
                               "9999-12-31T23:59:59-01:00", "99999-01-01", "epoch")),
]  # fmt: skip
FAR = 300_000_000_000_000_000
"""Microseconds: more than nine thousand years."""


def landed_texts(site: Site) -> None:
    """Write the same rows as JSON lines, as messages and as CSV."""
    rows = [{"id": i, **row} for i, row in enumerate([WITHIN, *OUTSIDE])]
    unmapped = [{c: row[c] for c in row if c != "m"} for row in rows]
    for name in ("json", "upsert", "csv"):
        (site.landing / name).mkdir(parents=True)
    lines = [json.dumps(row) for row in rows]
    (site.landing / "json" / "0.json").write_text("\n".join(lines))
    messages = [json.dumps({"key": {"id": r["id"]}, "value": r}) for r in unmapped if len(r) > 1]
    (site.landing / "upsert" / "0.json").write_text("\n".join(messages))
    text = io.StringIO()
    writer = csv.DictWriter(text, ["id", *WITHIN])
    writer.writeheader()
    writer.writerows(
        {c: v if isinstance(v, str | int) else json.dumps(v) for c, v in row.items()}
        for row in rows
    )
    (site.landing / "csv" / "0.csv").write_text(text.getvalue())


def moments(values: list[int], zone: str | None = None) -> pa.Array:
    return pa.array(values, pa.int64()).cast(pa.timestamp("us", zone))


def nested(values: list[int]) -> pa.Table:
    """Return rows with a time each, in an array, a struct and a map."""
    count = len(values)
    days = pa.array([0] * count, pa.int32()).cast(pa.date32())
    offsets = pa.array(range(count + 1), pa.int32())
    return pa.table({
        "id": pa.array(range(count), pa.int32()),
        "a": pa.ListArray.from_arrays(offsets, moments(values)),
        "s": pa.StructArray.from_arrays([moments([0] * count), days], ["t", "d"]),
        "m": pa.MapArray.from_arrays(offsets, pa.array(["x"] * count), days),
        "n": moments([0] * count, "UTC"),
    })  # fmt: skip


@pytest.mark.spark
def test_no_text_holds_a_time_outside_of_the_years(tmp_path: Path, sessions: Sessions) -> None:
    site = Site(tmp_path, sessions)
    landed_texts(site)
    forms = {"json": "PLAIN ENCODE JSON", "csv": "PLAIN ENCODE CSV", "upsert": "UPSERT ENCODE JSON"}
    site.define(*(
        SOURCE.format(name=name, form=form, columns=KEYED if name == "upsert" else COLUMNS)
        for name, form in forms.items()
    ))  # fmt: skip
    with site.connect() as fm:
        fm.advance(now=NOW)
        assert fm.warehouse.log.suspensions() == {}
        for name in forms:
            ((key, *values),) = fm.execute(f"SELECT * FROM of_{name}").rows
            assert key == 0 and None not in values
            letters = fm.execute(f"SELECT reason, place, message FROM of_{name}__dead_letter").rows
            count = sum(name != "upsert" or "m" not in row for row in OUTSIDE)
            assert len({place for _, place, _ in letters}) == len(letters) == count, name
            assert all(reason == "E0651" and said for reason, _, said in letters), letters


@pytest.mark.spark
def test_no_parquet_file_holds_one(tmp_path: Path, sessions: Sessions) -> None:
    site = Site(tmp_path, sessions)
    for name in ("nested", "old", "millis"):
        (site.landing / name).mkdir(parents=True)
    pq.write_table(nested([0, FAR, 1, -FAR]), site.landing / "nested" / "0.parquet")
    ancient = pa.array([datetime(1800, 1, 1), datetime(2200, 1, 1)], pa.timestamp("us"))
    old = pa.table({"id": pa.array([0, 1], pa.int32()), "n": ancient})
    pq.write_table(old, site.landing / "old" / "0.parquet", use_deprecated_int96_timestamps=True)
    far = pa.array([0, 2**62], pa.int64()).cast(pa.timestamp("ms"))
    beyond = pa.table({"id": pa.array([0, 1], pa.int32()), "n": far})
    pq.write_table(beyond, site.landing / "millis" / "0.parquet")
    pq.write_table(old, site.landing / "millis" / "1.parquet")
    site.define(*(
        SOURCE.format(name=name, form="PLAIN ENCODE PARQUET", columns=COLUMNS)
        for name in ("nested", "old", "millis")
    ))  # fmt: skip
    with site.connect() as fm:
        fm.advance(now=NOW)
        assert fm.warehouse.log.suspensions() == {}
        rows = {n: fm.execute(f"SELECT * FROM of_{n} ORDER BY id").rows for n in ("nested", "old")}
        assert [row[0] for row in rows["nested"]] == [0, 2]
        assert [row[0] for row in rows["old"]] == [0, 1]
        letters = fm.execute("SELECT message, row FROM of_nested__dead_letter ORDER BY place").rows
        assert [said.partition(":")[0] for said, _ in letters] == ["a", "a"]
        assert [json.loads(row)["id"] for _, row in letters] == [1, 3]
        # What Spark has no microseconds for costs its file, and no other.
        assert len(fm.execute("SELECT * FROM of_millis").rows) == 2
        ((said,),) = fm.execute("SELECT message FROM of_millis__dead_letter").rows
        assert "0.parquet cannot be read: column n" in said


@pytest.mark.parametrize(
    "nest",
    [
        lambda times: times,
        lambda times: pa.ListArray.from_arrays([0, 2], times),
        lambda times: pa.StructArray.from_arrays([times], ["x"]),
        lambda times: pa.MapArray.from_arrays([0, 2], pa.array(["a", "b"]), times),
    ],
    ids=["plain", "list", "struct", "map"],
)
@pytest.mark.parametrize(("time", "told"), [(2**62, "column n: "), (0, None)])
def test_a_file_with_a_time_beyond_all_microseconds_is_known(
    nest: Callable[[Any], Any], time: int, told: str | None, tmp_path: Path
) -> None:
    times = pa.array([0, time], pa.int64()).cast(pa.timestamp("ms"))
    pq.write_table(pa.table({"n": nest(times)}), tmp_path / "0.parquet")
    found = _read_failure(tmp_path / "0.parquet", parquet=True)
    assert (found is None) == (told is None) and (told or "") in (found or "")


@pytest.mark.spark
def test_no_delta_table_holds_one(tmp_path: Path, sessions: Sessions) -> None:
    site = Site(tmp_path, sessions)
    site.define(
        "CREATE SOURCE of_delta (id INT, a TIMESTAMP[]) "
        "WITH (connector = 'delta', path = '{landing}/delta');",
        "CREATE SOURCE parted (id INT, d DATE, v INT) "
        "WITH (connector = 'delta', path = '{landing}/parted');",
    )
    write_deltalake(site.landing / "delta", nested([0, FAR, 1]).select(["id", "a"]))
    days = pa.array([0, 4_000_000], pa.int32()).cast(pa.date32())
    parted = pa.table({"id": pa.array([0, 1], pa.int32()), "d": days, "v": pa.nulls(2, pa.int32())})
    write_deltalake(site.landing / "parted", parted, partition_by=["d"])
    with site.connect() as fm:
        fm.advance(now=NOW)
        assert fm.warehouse.log.suspensions() == {}
        assert [row[0] for row in fm.execute("SELECT * FROM of_delta ORDER BY id").rows] == [0, 2]
        ((said,),) = fm.execute("SELECT message FROM of_delta__dead_letter").rows
        assert said.startswith("a: '") and said.endswith("outside of the years 1 to 9999")
        ((said, row),) = fm.execute("SELECT message, row FROM parted__dead_letter").rows
        assert said == "d: '+12921-08-18' is outside of the years 1 to 9999"
        assert json.loads(row) == {"id": 1, "d": "+12921-08-18", "v": None}
