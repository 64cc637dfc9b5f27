"""`verify` looks at all that kept epochs need: older versions, corrections, rows of statements."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from floodmark.storage.checks.verification import verify_tables
from floodmark.storage.delta.log import commit_key
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.logs.catalog import CatalogLog
from floodmark.storage.logs.epochs import EpochLog, ObjectRecord
from floodmark.storage.logs.retention import Retention
from tests.storage.conftest import SCHEMA, write_rows

NOW = datetime(2024, 1, 1, tzinfo=UTC)
TABLE = "_rows/public/t"
CORRECTED = "_corrections/public/t"


def fill(root: Path, epochs: int = 3, tables: int = 1) -> dict[int, Path]:
    """Make tables whose rows each epoch replaces; return the files of the first, by epoch."""
    store, log, files = DeltaStore(root), EpochLog(root), dict[int, Path]()
    names = [TABLE, *(f"_rows/public/t{number}" for number in range(1, tables))]
    handles = {name: store.create(name, SCHEMA) for name in names}
    for name in names:
        store.create(name.removeprefix("_rows/"), SCHEMA)
    store.commit(store.create(CORRECTED, SCHEMA), adds=write_rows(store, CORRECTED, 1, [(1, "c")]))
    CatalogLog(root).append(1, [], NOW)
    for epoch in range(1, epochs + 1):
        rows = root / "_floodmark" / "dml" / f"t-{epoch}"
        (added,) = write_rows(store, f"rows/{epoch}", 1, [(epoch, "r")])
        rows.parent.mkdir(parents=True, exist_ok=True)
        (root / "rows" / str(epoch) / added.path).parent.rename(rows)
        path = str(rows / Path(added.path).name)
        dml = [{"table": "t", "paths": [path], "rows": 1, "start": epoch}]
        record = log.open(epoch, NOW, 1, NOW, dml=dml).id
        for name in names:
            adds = write_rows(store, name, epoch, [(epoch, "a")])
            said = {"epoch": epoch, "record": record, "attempt": 1}
            handles[name] = store.commit(
                handles[name], adds=adds, removes=handles[name].files, app="t", epoch=epoch,
                metadata=said,
            )  # fmt: skip
            if name == TABLE:
                files[epoch] = root / name / adds[0].path
        pins = {name: handle.version for name, handle in handles.items()}
        log.seal(epoch, [ObjectRecord("t", pins)], NOW)
    return files


def found(root: Path) -> list[str]:
    """Return what is wrong with a warehouse."""
    findings = list(verify_tables(EpochLog(root), DeltaStore(root)))
    assert {f.object for f in findings} <= {"t"} and all(f.remedy for f in findings)
    return [f.message for f in findings]


def test_files_of_older_epochs_that_are_kept_are_looked_at(tmp_path: Path) -> None:
    files = fill(tmp_path)
    assert found(tmp_path) == []
    files[1].unlink()
    files[2].write_bytes(b"PAR1")
    messages = found(tmp_path)
    assert len(messages) == 2 and all(m.startswith(TABLE) for m in messages)
    Retention(tmp_path).keep_from(2, NOW)
    (message,) = found(tmp_path)
    assert "4 bytes" in message
    Retention(tmp_path).keep_from(3, NOW)
    assert found(tmp_path) == []


@pytest.mark.parametrize("text", ["", "{", '{"add": {}}\n'])
def test_a_damaged_commit_hides_no_other_fault(text: str, tmp_path: Path) -> None:
    files = fill(tmp_path)
    files[3].unlink()
    (tmp_path / TABLE / commit_key(2)).write_text(text)
    messages = found(tmp_path)
    assert len(messages) == 2 and "is missing, with 1 rows" in messages[1]


def test_a_damaged_commit_before_what_is_kept_hides_nothing(tmp_path: Path) -> None:
    files = fill(tmp_path)
    Retention(tmp_path).keep_from(3, NOW)
    files[1].unlink()  # as maintenance does: no epoch that is kept needs it
    files[3].unlink()
    (tmp_path / TABLE / commit_key(2)).write_text("{")
    messages = found(tmp_path)
    assert sum("is missing, with 1 rows" in m for m in messages) == 1


def test_rows_of_statements_and_corrections_are_looked_at(tmp_path: Path) -> None:
    fill(tmp_path)
    first, second = (next((tmp_path / f"_floodmark/dml/t-{n}").iterdir()) for n in (1, 2))
    first.unlink()
    second.write_bytes(b"")
    next((tmp_path / CORRECTED).rglob("*.parquet")).unlink()
    corrected, gone, broken = found(tmp_path)
    assert CORRECTED in corrected and "missing" in gone and "no Parquet" in broken
    Retention(tmp_path).keep_from(3, NOW)
    assert found(tmp_path) == [corrected]


def test_the_rows_that_a_table_is_to_begin_with_are_looked_at(tmp_path: Path) -> None:
    fill(tmp_path)
    path = str(tmp_path / "_floodmark/dml/t-9/a.parquet")
    dml = [{"table": "t", "paths": [path], "rows": 1, "start": 0}]
    CatalogLog(tmp_path).append(4, [], NOW, dml=dml)
    (message,) = found(tmp_path)
    assert "a.parquet of t-9" in message


def test_records_are_read_once_for_all_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, opened = Counter[str](), EpochLog.open_record
    for name, tables in (("few", 1), ("many", 6)):
        fill(tmp_path / name, 4, tables)
        with monkeypatch.context() as patched:
            patched.setattr(
                EpochLog,
                "open_record",
                lambda log, epoch, name=name: (counts.update([name]), opened(log, epoch))[1],
            )
            assert found(tmp_path / name) == []
    assert counts["few"] == counts["many"]
