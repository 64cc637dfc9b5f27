"""What is no Parquet file is an error of its path, as what is no file at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floodmark.storage.plain_files import open_parquet, parquet_footer, read_parquet


@pytest.mark.parametrize("data", [b"", b"PAR1", b"this is no Parquet file at all"])
@pytest.mark.parametrize(
    "read",
    [open_parquet, parquet_footer, lambda path: read_parquet(path, ["a"])],
    ids=["open", "footer", "read"],
)
def test_what_is_no_parquet_file_is_told(
    read: Callable[[str], Any], data: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    with pytest.raises(OSError, match=re.escape(str(path))):
        read(str(path))


def test_columns_that_a_file_has_not_are_told(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(OSError, match=re.escape(str(path))):
        read_parquet(str(path), ["b"])
