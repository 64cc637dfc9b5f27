"""Which views begin with an epoch: neither they nor what they read has had a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.epochs.objects.initial_fill import is_initial_fill
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.stores.memory import MemoryStore
from floodmark.storage.table import DataFile
from floodmark.tables import layout
from floodmark.tables.cut import Cut
from tests.program_reference import compile_sql

SQL = """
CREATE TABLE t (k INT PRIMARY KEY, v INT);
CREATE TABLE u (k INT PRIMARY KEY, v INT);
CREATE MATERIALIZED VIEW grouped AS SELECT v, count(*) AS n FROM t GROUP BY v;
CREATE MATERIALIZED VIEW joined AS SELECT t.k, u.v FROM t LEFT JOIN u USING (k);
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM t;
CREATE MATERIALIZED VIEW beside AS SELECT t.k, n FROM t, (SELECT count(*) AS n FROM u) AS c;
CREATE MATERIALIZED VIEW listed AS SELECT k FROM t UNION ALL SELECT x FROM (VALUES (1)) AS l (x);
CREATE MATERIALIZED VIEW above AS SELECT max(n) AS most, v % 2 AS odd FROM grouped GROUP BY v % 2;
"""
_ROWS = DataFile("1-1/rows.parquet", 100, 1)


@pytest.mark.parametrize(
    ("filled", "beginning"),
    [
        ((), {"grouped", "joined", "above"}),
        (("u",), {"grouped", "above"}),
        (("t",), {"above"}),
        (("grouped",), {"joined"}),
    ],
)
def test_a_view_begins_where_nothing_was(
    filled: tuple[str, ...], beginning: set[str], tmp_path: Path
) -> None:
    store, pipeline, records = MemoryStore(tmp_path), compile_sql(SQL), {}
    for found in pipeline.writing_objects:
        tables = [layout.current_table(found), layout.changes_table(found)]
        schemas = [layout.current_schema(found), layout.changes_schema(found)]
        versions = {}
        for table, schema in zip(tables, schemas, strict=True):
            handle = store.create(table, schema)
            if found.name in filled:
                handle = store.commit(handle, adds=(_ROWS,), app=found.key, epoch=1)
            versions[table] = handle.version
        records[found.key] = ObjectRecord(found.key, versions)
    found = {
        o.name
        for o in pipeline.writing_objects
        if is_initial_fill(o, pipeline, Cut(1, records), store)
    }
    assert found == beginning


def test_before_their_first_epoch_views_begin(tmp_path: Path) -> None:
    pipeline = compile_sql(SQL)
    store = MemoryStore(tmp_path)
    found = {o.name for o in pipeline.writing_objects if is_initial_fill(o, pipeline, Cut(), store)}
    assert found == {"grouped", "joined", "above"}
