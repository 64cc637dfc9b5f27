"""A source that thins its rows goes on from what it has stored; the examples it was made for."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.api import Floodmark
from tests.warehouses import Site, dying_at, numbers

pytestmark = pytest.mark.spark

START = datetime(2013, 2, 1, tzinfo=UTC)
THIN = """
CREATE SOURCE s (id INT, ts TIMESTAMPTZ, n INT, WATERMARK FOR ts AS ts - INTERVAL '1 hour')
WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON
TRANSFORM USING (
    SELECT id, 12 / n AS part FROM s
    WHERE id > 0 AND ts <= now() AND now() < ts + INTERVAL '30 minutes'
);
CREATE MATERIALIZED VIEW v AS SELECT id, part FROM s;
"""


def _to(fm: Floodmark, minutes: int) -> None:
    fm.clock.set(START + timedelta(minutes=minutes))  # type: ignore[attr-defined]


def _put(folder: Path, name: str, *rows: tuple[int, int, int]) -> Path:
    folder.mkdir(exist_ok=True)
    keys = ("id", "ts", "n")
    times = ((i, (START + timedelta(minutes=m)).isoformat(), n) for i, m, n in rows)
    path = folder / f"{name}.json"
    path.write_text("\n".join(json.dumps(dict(zip(keys, row, strict=True))) for row in times))
    return path


def _ids(fm: Floodmark, name: str) -> list[int]:
    return numbers(fm, name, "id")


@pytest.mark.parametrize("point", ["files_written", "view_committed", "before_seal", "after_seal"])
def test_what_is_stored_is_not_asked_for_again(site: Site, point: str) -> None:
    site.define(THIN)
    with site.connect() as fm:
        _to(fm, 0)
        first = _put(site.landing, "1", (1, 0, 1), (2, 20, 2), (3, -40, 3), (-4, 0, 4), (5, 0, 0))
        fm.advance()
        second = _put(site.landing, "2", (6, 5, 1), (7, -70, 2), (8, 10, 3))

        _to(fm, 10)
        with dying_at(point):
            fm.advance()
        first.unlink()
        if point != "files_written":
            # All that came is stored, or known to be left out.
            second.unlink()
    with site.connect() as fm:
        _to(fm, 10)
        fm.advance()
        assert _ids(fm, "s") == _ids(fm, "v") == [1, 6, 8]
        record = fm.warehouse.log.seal_record(fm.warehouse.log.head().sealed).objects["s"]
        late = fm.execute("SELECT count(*) FROM s__late").rows
        assert (record.watermarks, late) == ({"ts": START - timedelta(minutes=40)}, ((0,),))
        for path in site.landing.glob("*.json"):
            path.unlink()
        _to(fm, 25)
        fm.advance()
        fm.execute("CREATE MATERIALIZED VIEW w AS SELECT id FROM s")
        assert _ids(fm, "s") == _ids(fm, "v") == _ids(fm, "w") == [1, 2, 6, 8]
        _to(fm, 37)
        fm.advance()
        fm.maintain(timedelta(microseconds=1))
        assert _ids(fm, "s") == _ids(fm, "v") == _ids(fm, "w") == [2, 8]
        _to(fm, 60 * 24 * 365)
        fm.advance()
        fm.maintain(timedelta(microseconds=1))
        assert _ids(fm, "s") == _ids(fm, "v") == _ids(fm, "w") == []
        assert fm.warehouse.log.suspensions() == {}
        assert [r.due for r in fm.warehouse.cut().records.values()] == [None] * 3


def test_a_clock_that_goes_back_keeps_the_last_time(site: Site) -> None:
    site.define(THIN)
    with site.connect() as fm:
        _to(fm, 40)
        _put(site.landing, "1", (1, 0, 1), (2, 20, 2))
        fm.advance()
        assert _ids(fm, "v") == [2]
        _to(fm, 5)
        _put(site.landing, "2", (3, 38, 3))
        (summary,) = fm.advance()
        assert summary.now > START + timedelta(minutes=40)
        assert _ids(fm, "s") == _ids(fm, "v") == [2, 3]
        assert any(
            "clock went back" in note for note in fm.warehouse.log.open_record(summary.epoch).notes
        )


@pytest.mark.parametrize("tidy", [False, True], ids=["stored", "reclaimed"])
def test_a_row_that_is_over_has_left_its_key(site: Site, tidy: bool) -> None:
    site.define("""
CREATE SOURCE s (id INT, ts TIMESTAMPTZ, n INT, PRIMARY KEY (id))
WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON
TRANSFORM USING (SELECT n FROM s WHERE now() < ts + INTERVAL '10 minutes');
""")
    with site.connect() as fm:
        _to(fm, 0)
        _put(site.landing, "1", (1, 0, 1), (2, 30, 2))
        fm.advance()
        _to(fm, 20)
        fm.advance()
        if tidy:
            fm.maintain(timedelta(microseconds=1))
        _put(site.landing, "2", (1, 20, 3), (2, 20, 4))
        fm.advance()
        assert fm.execute("SELECT n FROM s ORDER BY n").rows == ((2,), (3,))
        dead = fm.execute("SELECT reason, expression, row FROM s__dead_letter").rows
        assert dead == (("E0654", "PRIMARY KEY (id)", '{"id":2,"n":4}'),)


def test_json_is_decoded_and_only_certain_rows_are_kept(site: Site) -> None:
    site.define("""
CREATE SOURCE sales_staff (data BYTEA) WITH (connector = 'files', path = '{landing}')
FORMAT PLAIN ENCODE PARQUET
TRANSFORM USING (
    SELECT (data->>'id')::int AS id, (data->>'name')::text AS name
    FROM (SELECT CONVERT_FROM(data, 'utf8')::jsonb AS data FROM sales_staff)
    WHERE (data->>'department')::text = 'sales'
);
""")
    people = [(1, "a", "sales"), (2, "b", "law"), (3, "c", "sales")]
    texts = [json.dumps({"id": i, "name": n, "department": d}).encode() for i, n, d in people]
    site.landing.mkdir(exist_ok=True)
    rows = pa.table({"data": pa.array([*texts, b"no json", b"\xff"], pa.binary())})
    pq.write_table(rows, site.landing / "1.parquet")
    with site.connect() as fm:
        fm.advance()
        assert fm.execute("SELECT * FROM sales_staff ORDER BY id").rows == ((1, "a"), (3, "c"))
        assert fm.execute("SELECT count(*) FROM sales_staff__dead_letter").rows == ((2,),)


@pytest.mark.parametrize("included", [False, True], ids=["created_at", "ingest_ts"])
def test_orders_of_the_last_30_days_are_kept(site: Site, included: bool) -> None:
    time = "ingest_ts" if included else "created_at"
    include = "INCLUDE INGESTION TIMESTAMP AS ingest_ts" if included else ""
    site.define(f"""
CREATE SOURCE orders_30d (id INT, created_at TIMESTAMP)
WITH (connector = 'files', path = '{{landing}}') FORMAT PLAIN ENCODE JSON {include}
TRANSFORM USING (SELECT * FROM orders_30d WHERE mz_now() <= {time} + '30 days');
""")
    site.landing.mkdir(exist_ok=True)
    orders = [
        {"id": 1, "created_at": "2013-01-31T00:00:00"},
        {"id": 2, "created_at": "2012-12-01T00:00:00"},
    ]
    (site.landing / "1.json").write_text("\n".join(map(json.dumps, orders)))
    with site.connect() as fm:
        day = 60 * 24
        _to(fm, 0)
        fm.advance()
        assert _ids(fm, "orders_30d") == ([1, 2] if included else [1])
        last = fm.warehouse.cut().records["orders_30d"].due
        assert last is not None
        _to(fm, 29 * day)
        fm.advance()
        assert _ids(fm, "orders_30d") == ([1, 2] if included else [1])
        fm.clock.set(last)  # type: ignore[attr-defined]
        fm.advance()
        assert _ids(fm, "orders_30d") == []
