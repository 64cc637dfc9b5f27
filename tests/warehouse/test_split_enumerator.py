"""What is on offer: files that no epoch has taken in, found without reading the whole log."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.api import connect
from floodmark.errors import DataError
from floodmark.limits import LIMITS
from floodmark.storage.logs import epoch_listing, epochs as epoch_log
from floodmark.storage.logs.epochs import EpochLog
from floodmark.warehouse import split_enumerator
from floodmark.warehouse.split_enumerator import SplitEnumerator


def test_a_new_process_begins_where_the_last_bucket_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (epoch_listing, epoch_log, split_enumerator):
        monkeypatch.setattr(module, "BUCKET", 4)
    landing = tmp_path / "landing"
    landing.mkdir()
    with connect(tmp_path / "warehouse") as fm:
        fm.execute(
            f"CREATE SOURCE s (a INT) WITH (connector = 'files', path = '{landing}')"
            " FORMAT PLAIN ENCODE JSON"
        )
        warehouse, log, pipeline = fm.warehouse, fm.warehouse.log, fm.deployed.pipeline
        record = log.seal_record(1).objects["s"]
        for epoch in range(2, 11):
            (landing / f"{20 - epoch}.json").write_text('{"a": 1}\n')
            (split,) = warehouse.splits.new_splits(pipeline)["s"]
            now = warehouse.clock.now()
            log.open(epoch, now, 1, now, splits={"s": [split.as_json()]})
            log.seal(epoch, [record], now)
    warehouse.splits.new_splits(pipeline)
    assert log.last_discovery()[0] == 7
    read: list[int] = []
    opened = EpochLog.open_record

    def counting(self: EpochLog, epoch: int) -> epoch_log.OpenRecord:
        read.append(epoch)
        return opened(self, epoch)

    monkeypatch.setattr(EpochLog, "open_record", counting)
    assert (
        SplitEnumerator(EpochLog(tmp_path / "warehouse"), limits=LIMITS).new_splits(pipeline) == {}
    )
    assert min(read) == 8
    (landing / "0.json").write_text('{"a": 1}\n')
    (split,) = SplitEnumerator(EpochLog(tmp_path / "warehouse"), limits=LIMITS).new_splits(
        pipeline
    )["s"]
    assert split.payload["file"] == "0.json"


def test_a_source_out_of_reach_stops_only_what_needs_it(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with connect(tmp_path / "warehouse") as fm:
        for name in ("here", "gone"):
            fm.execute(
                f"CREATE SOURCE {name} (a INT) WITH (connector = 'files',"
                f" path = '{tmp_path / name}') FORMAT PLAIN ENCODE JSON"
            )
        fm.execute("CREATE MATERIALIZED VIEW v AS SELECT a FROM here")
        fm.execute("CREATE MATERIALIZED VIEW w AS SELECT v.a FROM v JOIN gone ON v.a = gone.a")
        for select in (None, ["w"], ["gone"], ["v", "gone"]):
            for attempt in (fm.has_new, lambda select: fm.advance(select=select)):
                with pytest.raises(DataError, match="E0475"):
                    attempt(select)
        for select in (["v"], ["here", "v"]):
            assert not fm.has_new(select) and fm.advance(select=select) == []
