"""Files of statements' rows, on a disk: whose they are, and when they go. No Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from floodmark.storage.files.statement_files import StatementFiles, expire_statements, is_kept
from floodmark.storage.objects.local import LocalObjects
from floodmark.storage.plain_files import parquet_writer

FOLDER = "_floodmark/dml"


@pytest.fixture
def files(tmp_path: Path) -> StatementFiles:
    """Return the files of a statement: one without rows, two with some, and what is none."""
    found = StatementFiles.new(LocalObjects(tmp_path), "public.t")
    for name, rows in (("b", 2), ("a", 1), ("c", 0)):
        table = pa.table({"k": pa.array(range(rows), pa.int64())})
        with parquet_writer(f"{found.url}/{name}.parquet", table.schema) as writer:
            writer.write_table(table)
    found.objects.create(f"{found.folder}/_SUCCESS", b"")
    return found


def test_files_are_known_as_spark_knows_them(files: StatementFiles, tmp_path: Path) -> None:
    assert files.url.startswith(f"{tmp_path}/{FOLDER}/public.t-")
    assert files.paths() == [f"{files.url}/{name}.parquet" for name in "abc"]
    assert [(f.path, f.rows) for f in files.footers()] == [
        (f"{files.url}/a.parquet", 1),
        (f"{files.url}/b.parquet", 2),
    ]


def test_no_statement_has_the_files_of_another(tmp_path: Path) -> None:
    names = {StatementFiles.new(LocalObjects(tmp_path), "public.t").folder for _ in range(20)}
    assert len(names) == 20
    assert StatementFiles.new(LocalObjects(tmp_path), "public.t").paths() == []


def test_what_is_discarded_is_gone(files: StatementFiles) -> None:
    entries = [{"paths": files.paths()}]
    assert is_kept(entries) and is_kept([])
    files.discard()
    files.discard()
    assert files.paths() == [] and not is_kept(entries)
    assert list(files.objects.list()) == []


def test_old_files_go_that_nothing_needs(files: StatementFiles) -> None:
    objects, path, later = files.objects, files.paths()[0], timedelta(days=1)
    now = datetime.now(UTC)
    assert expire_statements(objects, now - later, lambda: pytest.fail("nothing is old")) == 0
    assert expire_statements(objects, now + later, lambda: {path}) == 0
    other = StatementFiles.new(objects, "public.u")
    objects.create(f"{other.folder}/_temporary/0/x", b"")
    assert expire_statements(objects, now + later, lambda: {path}) == 1
    assert is_kept([{"paths": [path]}]) and not list(objects.list(f"{other.folder}/"))
    assert expire_statements(objects, now + later, set) == 1
    assert list(objects.list(FOLDER)) == []
