"""What a statement may not write."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.api import connect
from floodmark.errors import BindError
from floodmark.runtime import dml


def test_a_null_array_is_no_value_of_a_not_null_column(tmp_path: Path) -> None:
    with connect(tmp_path / "warehouse") as fm:
        fm.execute(
            "CREATE TABLE t (k INT PRIMARY KEY, xs INT[] NOT NULL, ys INT[],"
            " s STRUCT<a INT> NOT NULL)"
        )
        target = fm.find("t")
    path = tmp_path / "rows.parquet"
    some = pa.array([[1, None], []])
    rows = {"k": [1, 2], "xs": some, "ys": pa.array([None, [1]]), "s": [{"a": None}, {"a": 1}]}
    pq.write_table(pa.table(rows), path)
    dml.check_rows(dml.nested_nulls([str(path)], target), target)
    pq.write_table(pa.table(rows | {"xs": pa.array([[1], None])}), path)
    with pytest.raises(BindError, match='column "xs"') as refused:
        dml.check_rows(dml.nested_nulls([str(path)], target), target)
    assert refused.value.code == "E0235"
