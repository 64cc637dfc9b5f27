"""Rows of files know their file and their place in it; on Spark."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.testing.output import read_output
from tests.warehouses import NOW, Site

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("encode", ["CSV", "PARQUET"])
def test_rows_of_files_know_their_place(site: Site, encode: str) -> None:
    site.define(f"""
    CREATE SOURCE c (a INT, place VARCHAR METADATA FROM 'file_name',
                     line BIGINT METADATA FROM 'row_number', doubled BIGINT AS line * 2)
    WITH (connector = 'files', path = '{{landing}}') FORMAT PLAIN ENCODE {encode};
    CREATE MATERIALIZED VIEW v AS SELECT place, count(*) AS n, max(doubled) AS most
    FROM c GROUP BY place;
    """)  # fmt: skip
    site.landing.mkdir(parents=True)
    for name, numbers in (("x", [5, 6]), ("y", [7])):
        if encode == "CSV":
            text = "a\n" + "".join(f"{n}\n" for n in numbers)
            (site.landing / name).write_text(text)
        else:
            pq.write_table(pa.table({"a": pa.array(numbers, pa.int32())}), site.landing / name)
    with site.connect() as fm:
        fm.advance(now=NOW)
        head = 1 if encode == "CSV" else 0
        assert sorted(read_output(fm.store, fm.deployed.pipeline["c"]).rows) == [
            (5, "x", 1 + head, 2 + 2 * head),
            (6, "x", 2 + head, 4 + 2 * head),
            (7, "y", 1 + head, 2 + 2 * head),
        ]
        assert sorted(read_output(fm.store, fm.deployed.pipeline["v"]).rows) == [
            ("x", 2, 4 + 2 * head),
            ("y", 1, 2 + 2 * head),
        ]
