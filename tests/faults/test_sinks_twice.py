"""Two histories of one warehouse write into the same Delta table at the same moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark import failpoints
from floodmark.connectors.sinks.delta import DeltaSender
from floodmark.connectors.sinks.identity import SinkIdentity
from floodmark.connectors.sinks.sink_batch import SinkBatch
from floodmark.errors import DataError
from floodmark.limits import LIMITS
from floodmark.scalar.types import INT, Field
from floodmark.stream.objects.external_sink import ExternalSink, SinkType


@pytest.mark.parametrize("record", ["ours", "theirs"])
def test_an_epoch_that_another_commits_meanwhile_is_done_only_by_the_same_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: str
) -> None:
    sink = ExternalSink("delta", SinkType.RETRACT, tmp_path / "out", "parquet", (Field("k", INT),))
    sender, epoch = (
        DeltaSender(sink, SinkIdentity("d", "seed"), limits=LIMITS),
        SinkBatch(7, piece=9),
    )

    def send_too(name: str) -> None:
        if name == "outside_written":
            monkeypatch.undo()
            assert sender.send(7, epoch, initial=True, records=lambda _: record) == 0

    monkeypatch.setattr(failpoints, "reach", send_too)
    if record == "ours":
        assert sender.send(7, epoch, initial=True, records=lambda _: "ours") == 0
        return
    with pytest.raises(DataError, match="E0745"):
        sender.send(7, epoch, initial=True, records=lambda _: "ours")
