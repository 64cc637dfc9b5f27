"""Files that an epoch's keys touch: plain columns are looked up, nested ones exclude no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.limits import LIMITS
from floodmark.scalar.types import BIGINT, INTERVAL, Field, SqlType, list_of, struct_of
from floodmark.storage.files.statistics import read_footer
from floodmark.storage.table import DataFile, Handle
from floodmark.tables.keys import files_with_keys

NESTED: dict[str, tuple[SqlType, Any, list[Any]]] = {
    "array": (list_of(BIGINT), pa.list_(pa.int64()), [[1, None], [], None]),
    "struct": (
        struct_of(("x", BIGINT)),
        pa.struct([("x", pa.int64())]),
        [{"x": 1}, {"x": None}, None],
    ),
    "interval": (
        INTERVAL,
        pa.struct([("months", pa.int32()), ("days", pa.int32()), ("micros", pa.int64())]),
        [{"months": 0, "days": 1, "micros": 0}, {"months": 1, "days": 0, "micros": 0}, None],
    ),
}


def _file(path: Path, columns: dict[str, Any]) -> DataFile:
    pq.write_table(pa.table(columns), path)
    return read_footer(str(path), path.name)


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("plain_first", [True, False])
def test_nested_keys_exclude_no_file_and_others_do(
    tmp_path: Path, kind: str, plain_first: bool
) -> None:
    type_, arrow, values = NESTED[kind]
    nested = pa.array(values, arrow)
    old = [
        _file(tmp_path / f"{i}.parquet", {"k": pa.array([i] * 3), "v": nested}) for i in range(3)
    ]
    schema = (Field("k", BIGINT), Field("v", type_))
    handle = Handle("t", 0, schema, tuple(old), {})
    path = tmp_path / "written.parquet"
    written = _file(path, {"k": pa.array([1, 1, 1]), "v": nested})
    assert files_with_keys(handle, [written], [str(path)], ("v",), LIMITS) == tuple(old)
    both = ("k", "v") if plain_first else ("v", "k")
    assert files_with_keys(handle, [written], [str(path)], both, LIMITS) == (old[1],)
