"""The envelope of records: what is damaged, out of its place, missing or too new is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import google_crc32c
import pytest
from hypothesis import given, strategies as st

from floodmark.errors import DataError
from floodmark.storage.checks.log_check import check_logs
from floodmark.storage.logs.backfills import BackfillLog, BackfillStep
from floodmark.storage.logs.catalog import AppliedStatement, CatalogLog
from floodmark.storage.logs.epochs import BUCKET, EpochLog, LogHead, ObjectRecord
from floodmark.storage.logs.last_reported import LastReport, LastReports
from floodmark.storage.logs.pending_drops import PendingDrops, PendingTables
from floodmark.storage.logs.retention import KeptEpochs, Retention
from floodmark.storage.logs.seed import pipeline_seed
from floodmark.storage.records.text import (
    Record,
    from_text,
    new_id,
    parse_text,
    record_text,
    to_text,
)
from floodmark.storage.records.upgrades import FORMAT

NOW = datetime(2024, 1, 1, tzinfo=UTC)
_PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_DATES = st.datetimes() | st.dates() | st.decimals(allow_nan=False)
_VALUES = st.recursive(
    _PLAIN | _DATES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def engine(root: Path) -> Path:
    return root / "_floodmark"


def fill(root: Path, epochs: int = 5) -> None:
    """Write every log of a warehouse."""
    log, catalogs = EpochLog(root), CatalogLog(root)
    for version in (1, 2, 3):
        catalogs.append(version, [AppliedStatement("SELECT 'é'", "a.sql", "file", None)], NOW)
    for epoch in range(1, epochs + 1):
        log.open(epoch, NOW, 1, NOW, splits={"s": [{"partition": 0, "end": epoch}]})
        for n in range(3):
            log.record("warning", NOW, f"{epoch}-{n}")
            log.pin(epoch, f"t{n}", n)
        log.seal(epoch, [ObjectRecord("v", {"_rows/public/v": epoch}, watermarks={"ts": NOW})], NOW)
    steps = BackfillLog(root, "v", 1)
    for number in range(3):
        steps.begin(number, BackfillStep(number + 1))
        steps.finish(number, ObjectRecord("v", {"_rows/public/v": number}))
    Retention(root).keep_from(2, NOW)
    PendingDrops(root).write(2, ["_rows/public/gone"])
    LastReports(root).write({"v": LastReport(3)})
    pipeline_seed(root)


def everything(root: Path) -> tuple[Any, ...]:
    """Read every log of a warehouse."""
    log, catalogs = EpochLog(root), CatalogLog(root)
    epochs = list(log.epochs())
    return (
        log.head(),
        [log.open_record(e) for e in epochs],
        [log.seal_record(e) for e in epochs],
        [log.events(e) for e in epochs],
        [log.pin(e, "t2", None) for e in epochs],
        catalogs.latest(),
        catalogs.versions(),
        BackfillLog(root, "v", 1).standing(),
        Retention(root).kept_epochs(),
        PendingDrops(root).pending(),
        LastReports(root).all_reports(),
        pipeline_seed(root),
    )


def as_format_0(root: Path) -> None:
    """Write all records as the versions did that knew no envelope."""
    for path in engine(root).rglob("*.json"):
        path.write_text(to_text(parse_text(path.read_text(), str(path)).body))
    seed = engine(root) / "seed"
    seed.write_text(json.loads(seed.read_text())["body"]["seed"])


def damages(path: Path) -> list[Callable[[], Any]]:
    """Return what breaks a file: emptied, cut, zeroed, a bit of its body changed, no object."""
    text = path.read_bytes()
    at = text.rindex(b":") + 1
    flipped = text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]
    broken = (b"", text[: len(text) // 2], bytes(len(text)), flipped, b"[]", b"\xff\xfe")
    return [lambda data=data: path.write_bytes(data) for data in broken]


@given(_VALUES)
def test_a_record_reads_as_it_was_written(body: Any) -> None:
    record = Record(body, 7, new_id())
    text = record_text("7.open.json", record)
    assert text.isascii() and parse_text(text, "7.open.json") == record


def test_the_checksum_is_what_the_documentation_says() -> None:
    data = json.loads(record_text("7.open.json", Record({"k": [1, "é"]}, 7, "ab")))
    covered = r'["7.open.json",7,"ab",{"k":[1,"\u00e9"]}]'
    assert list(data) == ["format", "number", "id", "crc32c", "body"]
    assert data["crc32c"] == f"{google_crc32c.value(covered.encode()):08x}"
    values = {"d": date(2024, 1, 1), "n": Decimal("1.50"), "$x": [NOW]}
    assert from_text(to_text(values)) == values


def test_what_former_versions_wrote_is_read_and_gone_on_with(tmp_path: Path) -> None:
    fill(tmp_path)
    written = everything(tmp_path)
    as_format_0(tmp_path)
    assert everything(tmp_path) == written
    log = EpochLog(tmp_path)
    assert log.open_record(5).id is None
    opened = log.open(6, NOW, 1, NOW)
    assert opened.id and EpochLog(tmp_path).open_record(6).id == opened.id
    log.seal(6, [], NOW)
    assert CatalogLog(tmp_path).append(4, [], NOW).version == 4
    Retention(tmp_path).keep_from(3, NOW)
    assert (
        EpochLog(tmp_path).head() == LogHead(6, None)
        and Retention(tmp_path).kept_epochs().oldest == 3
    )


def wrong(root: Path) -> dict[str, str]:
    """Return what reading all records finds."""
    found = [(c.name, c.error) for c in check_logs(root)]
    return {name: error.code for name, error in found if error is not None}


RECORDS = (
    "epochs/0/5.open.json", "epochs/0/5.seal.json", "epochs/0/3.event-000001.json",
    "epochs/0/3.asked-000001.json", "catalog/00000003.json", "catalog/00000001.json",
    "backfills/v.1/000002.done.json", "kept.json", "leaving.json", "reported.json", "seed",
)  # fmt: skip


@pytest.mark.parametrize("name", [n for n in RECORDS if n != "reported.json"])
def test_a_damaged_record_is_refused(tmp_path: Path, name: str) -> None:
    fill(tmp_path)
    path = engine(tmp_path) / name
    whole = path.read_bytes()
    for damage in damages(path):
        damage()
        if name == "seed" and not path.read_bytes().startswith(b"{") and path.stat().st_size:
            continue  # the text of a seed of a former version
        with pytest.raises(DataError, match="E0409") as raised:
            everything(tmp_path)
        assert path.name in raised.value.message
        assert wrong(tmp_path)[name] == "E0409"
    path.write_bytes(whole)
    everything(tmp_path)
    assert not wrong(tmp_path)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("epochs/0/3.open.json", "epoch 3"),
        ("epochs/0/1.open.json", "epoch 1"),
        ("epochs/0/5.open.json", "epoch 5"),
        ("epochs/0/3.seal.json", "the seal of epoch 3"),
        ("epochs/0/3.event-000001.json", "epoch 3, event 1"),
        ("epochs/0/3.asked-000000.json", "epoch 3, asked 0"),
        ("catalog/00000002.json", "catalog version 2"),
        ("backfills/v.1/000001.step.json", "step 1"),
        ("backfills/v.1/000002.step.json", "step 2"),
        ("backfills/v.1/000001.done.json", "what came of step 1"),
    ],
)
def test_a_gap_in_a_log_is_seen(tmp_path: Path, name: str, missing: str) -> None:
    fill(tmp_path)
    (engine(tmp_path) / name).unlink()
    before = sorted(engine(tmp_path).rglob("*"))
    with pytest.raises(DataError, match="E0431") as raised:
        everything(tmp_path)
    assert missing in raised.value.message
    assert [*wrong(tmp_path).values()] == ["E0431"]
    assert sorted(engine(tmp_path).rglob("*")) == before


def test_the_head_sees_a_gap_without_reading_records(tmp_path: Path) -> None:
    fill(tmp_path)
    (engine(tmp_path) / "epochs" / "0" / "2.open.json").unlink()
    for use in (EpochLog(tmp_path).head, EpochLog(tmp_path).positions):
        with pytest.raises(DataError, match="E0431"):
            use()
    with pytest.raises(DataError, match="E0431"):
        EpochLog(tmp_path).open(6, NOW, 1, NOW)


def test_a_bucket_with_others_after_it_is_full(tmp_path: Path) -> None:
    folder = engine(tmp_path) / "epochs"
    for epoch in range(1, BUCKET + 3):
        bucket = folder / str(epoch // BUCKET)
        bucket.mkdir(parents=True, exist_ok=True)
        (bucket / f"{epoch}.open.json").touch()
        (bucket / f"{epoch}.seal.json").touch()
    assert list(EpochLog(tmp_path).epochs()) == list(range(1, BUCKET + 3))
    (folder / "0" / f"{BUCKET - 1}.open.json").unlink()
    with pytest.raises(DataError, match=f"E0431.*epoch {BUCKET - 1}"):
        list(EpochLog(tmp_path).epochs())
    assert wrong(tmp_path)["epochs/0 to 999"] == "E0431" != wrong(tmp_path).get("epochs/1000")
    (folder / "0" / f"{BUCKET - 1}.seal.json").unlink()
    with pytest.raises(DataError, match=f"E0431.*epoch {BUCKET - 1}"):
        list(EpochLog(tmp_path).epochs(BUCKET - 10))
    shutil.rmtree(folder / "0")
    with pytest.raises(DataError, match="E0431"):
        EpochLog(tmp_path).head()


def test_records_out_of_order_are_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    four, five = (engine(tmp_path) / "epochs" / "0" / f"{n}.open.json" for n in (4, 5))
    kept = five.read_text()
    shutil.copy(four, five)
    with pytest.raises(DataError, match=r"E0432.*has the number 4"):
        EpochLog(tmp_path).open_record(5)
    assert wrong(tmp_path) == {"epochs/0/5.open.json": "E0432"}
    five.write_text(kept)
    moved = engine(tmp_path) / "epochs" / "0" / "4.event-000001.json"
    shutil.copy(moved.with_name("3.event-000001.json"), moved)
    with pytest.raises(DataError, match=r"E0409"):
        EpochLog(tmp_path).events(4)


def test_a_catalog_that_ends_before_the_epochs_is_told(tmp_path: Path) -> None:
    fill(tmp_path)
    log = EpochLog(tmp_path)
    log.open(6, NOW, 4, NOW)
    assert wrong(tmp_path) == {"catalog": "E0431"}


@pytest.mark.parametrize("name", [n for n in RECORDS if n != "seed"])
def test_a_newer_format_is_refused(tmp_path: Path, name: str) -> None:
    fill(tmp_path)
    path = engine(tmp_path) / name
    path.write_text(json.dumps({"format": FORMAT + 1, "number": "x", "seal": []}))
    before = {p: p.read_bytes() for p in engine(tmp_path).rglob("*") if p.is_file()}
    with pytest.raises(DataError, match=rf"E0430.*format {FORMAT + 1}.*up to {FORMAT}"):
        everything(tmp_path)
    assert {p: p.read_bytes() for p in engine(tmp_path).rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("format", [True, -1, "1", 1.0, None])
def test_a_format_is_a_number(tmp_path: Path, format: object) -> None:
    fill(tmp_path)
    path = engine(tmp_path) / "epochs/0/1.seal.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": format}))
    with pytest.raises(DataError, match=f"(?s)E0409.*its format is {json.dumps(format)}"):
        EpochLog(tmp_path).seal_record(1)


def test_a_former_record_may_have_a_field_of_that_name(tmp_path: Path) -> None:
    """Those that had no envelope could be by source, and a source can be called so."""
    fill(tmp_path)
    path = engine(tmp_path) / "epochs/0/discovered.json"
    path.write_text('{"format": {"files": []}}')
    assert EpochLog(tmp_path).last_discovery() == (999, {"format": {"files": []}})


def test_replaced_records_count_on(tmp_path: Path) -> None:
    for oldest in (2, 3):
        Retention(tmp_path).keep_from(oldest, NOW)
    assert json.loads((engine(tmp_path) / "kept.json").read_text())["number"] == 2
    assert Retention(tmp_path).kept_epochs() == KeptEpochs(3, NOW)
    assert PendingDrops(tmp_path).pending() is None
    PendingDrops(tmp_path).write(4, ["a"])
    assert PendingDrops(tmp_path).pending() == PendingTables(4, ["a"])
