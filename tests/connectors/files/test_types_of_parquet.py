"""Which types of a Parquet file are taken for which declared type: those that lose nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.connectors.base import SourceSpec
from floodmark.connectors.registry import make_connector
from floodmark.errors import DataError
from floodmark.limits import LIMITS
from floodmark.scalar.types import (
    BIGINT,
    DOUBLE,
    INT,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Field,
    SqlType,
    numeric,
)

TAKEN = {
    SMALLINT: (pa.int8(), pa.int16(), pa.uint8()),
    INT: (pa.int16(), pa.int32(), pa.uint16()),
    BIGINT: (pa.int32(), pa.int64(), pa.uint32()),
    numeric(10, 2): (pa.decimal128(10, 2), pa.decimal128(9, 1), pa.int16()),
    numeric(20, 0): (pa.int64(), pa.uint64()),
    DOUBLE: (pa.float64(), pa.float32(), pa.int32()),
    TIMESTAMP: (pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.date32()),
    TIMESTAMPTZ: (pa.timestamp("us"), pa.timestamp("ms", "UTC")),
    VARCHAR: (pa.string(), pa.large_string(), pa.null()),
}
REFUSED = {
    SMALLINT: (pa.int32(), pa.uint16()),
    INT: (pa.int64(), pa.uint32(), pa.string()),
    BIGINT: (pa.string(), pa.uint64(), pa.float64(), pa.binary()),
    numeric(10, 2): (pa.decimal128(11, 2), pa.decimal128(10, 3), pa.int32(), pa.float64()),
    DOUBLE: (pa.int64(), pa.decimal128(5, 2), pa.string()),
    TIMESTAMP: (pa.timestamp("ns"), pa.string()),
    TIMESTAMPTZ: (pa.timestamp("ns", "UTC"), pa.date32()),
    VARCHAR: (pa.binary(), pa.list_(pa.string())),
}


@pytest.mark.parametrize("declared", [*TAKEN])
def test_parquet_types_are_taken_where_that_is_exact(tmp_path: Path, declared: SqlType) -> None:
    options = {"connector": "files", "path": str(tmp_path)}
    spec = SourceSpec("s", (Field("c", declared),), "PLAIN", "PARQUET", options)
    connector = make_connector(spec, limits=LIMITS)
    for type_ in TAKEN.get(declared, ()):
        pq.write_table(pa.table({"c": pa.array([None], type_)}), tmp_path / "a.parquet")
        (split,) = connector.discover_splits({}, 10)
        assert "bad" not in split.payload, type_
    for type_ in REFUSED.get(declared, ()):
        pq.write_table(pa.table({"c": pa.array([None], type_)}), tmp_path / "a.parquet")
        with pytest.raises(DataError, match="E0478"):
            connector.discover_splits({}, 10)
