"""When a table that promises never to change may change all the same."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from floodmark.errors import BindError
from floodmark.runtime.cut import Cut
from floodmark.runtime.query import Reader
from floodmark.runtime.static_rows import check_static
from floodmark.storage.epoch_log import ObjectRecord
from floodmark.storage.memory import MemoryStore
from tests.program_reference import compile_sql

SQL = """
CREATE TABLE t (pk INT PRIMARY KEY, k INT);
CREATE TABLE d (k INT, name VARCHAR) WITH (static = 'true');
CREATE MATERIALIZED VIEW m AS SELECT pk, k FROM t WHERE k > 0;
CREATE MATERIALIZED VIEW v AS
    SELECT m.pk, d.name FROM m JOIN d FOR SYSTEM_TIME AS OF PROCTIME() ON m.k = d.k;
"""


def check(root: Path, **positions: int) -> None:
    """Ask whether `d` may change after epoch 7, while `m` has no rows."""
    pipeline = compile_sql(SQL)
    records = {key: ObjectRecord(key, {}, position=at) for key, at in positions.items()}
    tables = SimpleNamespace(store=MemoryStore(root))
    reader = SimpleNamespace(tables=tables, pipeline=pipeline, cut=Cut(7, records))
    check_static(pipeline["d"], cast(Reader, reader), None)


def test_who_looks_up_may_be_behind(tmp_path: Path) -> None:
    # What it missed it will look up in the table as it was in those epochs.
    check(tmp_path, t=7, m=7, v=5)


def test_rows_of_what_is_behind_are_not_known_yet(tmp_path: Path) -> None:
    with pytest.raises(BindError, match="looks rows of m up in it, which is behind") as refused:
        check(tmp_path, t=7, m=5, v=5)
    assert refused.value.code == "E0237"
