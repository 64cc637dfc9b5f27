"""The sensors tell everything at least once, read what is new, and ask for no run in vain."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from floodmark.connectors.files import discovery as files_discovery
from floodmark.session.ddl import deployment
from floodmark.storage.logs.object_record import ObjectRecord
from floodmark.warehouse.deployed import statements_of
from floodmark_dagster.sensors.pipeline_files import pipeline_files
from tests.dagster.pipeline_skin import (  # noqa: F401
    PIPELINE,
    Skin,
    make_materialized,
    make_skin,
    requested,
)
from tests.opened_records import Opened, count_opened  # noqa: F401

Names = Callable[[dg.ExecuteInProcessResult], set[str]]
REFUSED = {
    "E0741": """
CREATE SINK away AS SELECT id FROM readings WITH (connector = 'files', path = '{blocked}/away',
  type = 'append-only') FORMAT PLAIN ENCODE JSON;
""",
    "E0281": """
CREATE FUNCTION twice(v INT) RETURNS INT LANGUAGE python AS $$
raise RuntimeError("not here")
def twice(v):
    return v
$$;
CREATE MATERIALIZED VIEW doubled AS SELECT id, twice(v) AS v FROM readings;
""",
}


@pytest.mark.spark
@pytest.mark.parametrize("code", REFUSED)
def test_a_new_object_that_cannot_be_created_is_red_and_tried_once(
    skin: Skin, tmp_path: Path, materialized: Names, code: str
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    skin.land_other("1.parquet", pa.array([1], pa.int64()))
    assert skin.run(instance).success
    assert skin.loaded.keys
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, where a folder is needed")
    text = PIPELINE.format(landing=skin.landing) + REFUSED[code].format(blocked=blocked)
    skin.define(text)
    cursor: str | None = None
    runs: list[dg.ExecuteInProcessResult] = []
    for _ in range(4):
        tick = skin.tick(instance, cursor)
        cursor = tick.cursor
        runs += [requested(skin, instance, request) for request in tick.run_requests or ()]
    # What can be seen without running Python is refused without a run.
    assert [r.success for r in runs] == ([] if code == "E0741" else [False])
    with pytest.raises(dg.Failure, match=code):
        _tick_of_files(skin, instance)
    # What is new for the rest is taken in and told; the run fails with the error.
    skin.land_other("2.parquet", pa.array([2], pa.int64()))
    (request,) = skin.tick(instance, cursor).run_requests or ()
    result = requested(skin, instance, request)
    (failure,) = [e for e in result.all_events if e.is_step_failure]
    assert code in str(failure.step_failure_data.error)
    assert {"other", "others"} <= {
        e.asset_key.to_user_string()
        for e in result.get_asset_materialization_events()
        if e.asset_key
    }
    assert not skin.asks(instance)
    # Once the cause is away, the files are tried again.
    blocked.unlink()
    skin.define(text.replace('raise RuntimeError("not here")', ""))
    (request,) = skin.tick(instance, cursor).run_requests or ()
    assert requested(skin, instance, request).success
    assert "say" in str(_tick_of_files(skin, instance).skip_message)


def _tick_of_files(skin: Skin, instance: dg.DagsterInstance) -> dg.SkipReason:
    return _looked(skin, instance, None)[0]


def _looked(
    skin: Skin, instance: dg.DagsterInstance, cursor: str | None
) -> tuple[dg.SkipReason, str | None]:
    """Return what the sensor of the files answers, and its next cursor."""
    with dg.build_sensor_context(
        instance=instance, resources=skin.resources, cursor=cursor
    ) as context:
        result = pipeline_files(context)
        assert isinstance(result, dg.SkipReason)
        return result, context.cursor


def _seal(skin: Skin, epochs: int) -> None:
    """Seal epochs as the command line does, which touch `readings`; the first one creates all."""
    with skin.connect() as floodmark:
        warehouse, now = floodmark.warehouse, floodmark.clock.now()
        pipeline = skin.warehouse.pipeline()
        first = warehouse.log.head().sealed + 1
        if first == 1:
            warehouse.catalogs.append(1, statements_of(pipeline.catalog), now)
        for epoch in range(first, first + epochs):
            warehouse.log.open(epoch, now + timedelta(seconds=epoch), 1, now)
            records = [
                ObjectRecord(found.key, {}, touched=epoch == 1, position=epoch)
                for found in pipeline.writing_objects
            ]
            rows: dict[str, Any] = {"rows_in": 1, "rows_out": 1, "touched": True}
            warehouse.log.seal(
                epoch,
                [replace(r, **rows) if r.object == "readings" else r for r in records],
                now,
            )


def _told(tick: dg.SensorResult) -> list[tuple[str, object]]:
    return [
        (e.asset_key.to_user_string(), e.metadata["rows_in"].value)
        for e in tick.asset_events
        if isinstance(e, dg.AssetMaterialization) and "rows_in" in e.metadata
    ]


def test_what_dagster_has_not_kept_is_told_again(skin: Skin) -> None:
    instance = dg.DagsterInstance.ephemeral()
    _seal(skin, 1)
    first = skin.tick(instance)
    assert len(first.asset_events) == len(skin.loaded.keys)
    # The daemon dies before it keeps the events and the cursor: the next one tells them.
    again = skin.tick(instance)
    assert {e.asset_key for e in again.asset_events} == {e.asset_key for e in first.asset_events}
    _seal(skin, 2)
    lost = skin.tick(instance, again.cursor)
    assert _told(lost) == _told(skin.tick(instance, again.cursor)) == [("readings", 2)]
    _seal(skin, 1)
    assert _told(skin.tick(instance, again.cursor)) == [("readings", 3)]
    assert _told(skin.tick(instance, lost.cursor)) == [("readings", 1)]


def test_a_tick_reads_no_history_that_was_told(skin: Skin, opened: Opened) -> None:
    instance = dg.DagsterInstance.ephemeral()
    _seal(skin, 1)
    cursor = skin.tick(instance).cursor

    def seals_read(epochs: int) -> int:
        nonlocal cursor
        for _ in range(epochs):
            _seal(skin, 1)
            cursor = skin.tick(instance, cursor).cursor
        opened.kinds.clear()
        opened.below = Path(skin.warehouse.root) / "_floodmark"
        cursor = skin.tick(instance, cursor).cursor
        opened.below = None
        return opened.kinds["seal"]

    few = seals_read(2)
    assert 0 < few == seals_read(8)


def _counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[None]:
    """Return a list that grows by one with each call of a function."""
    calls: list[None] = []
    called = getattr(module, name)

    def counting(*rest: Any, **named: Any) -> Any:
        calls.append(None)
        return called(*rest, **named)

    monkeypatch.setattr(module, name, counting)
    return calls


def test_a_tick_with_new_rows_lists_each_folder_once(
    skin: Skin, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    _seal(skin, 1)
    cursor = skin.tick(instance).cursor
    skin.land_other("1.parquet", pa.array([1], pa.int64()))
    listed = _counted(monkeypatch, files_discovery, "_names")
    (request,) = skin.tick(instance, cursor).run_requests or ()
    assert {key.to_user_string() for key in request.asset_selection or ()} == {"other", "others"}
    assert len(listed) == len(("readings", "other"))


def test_files_are_planned_when_one_has_changed(
    skin: Skin, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = dg.DagsterInstance.ephemeral()
    _seal(skin, 1)
    planned = _counted(monkeypatch, deployment, "plan_files")
    _, cursor = _looked(skin, instance, None)
    assert len(planned) == 1 and cursor is not None
    assert _looked(skin, instance, cursor)[1] == cursor
    assert len(planned) == 1
    # Another file under the same name, with the same size and time, as a copy of an editor is.
    (file,) = Path(skin.warehouse.pipelines).glob("*.sql")
    times, text = file.stat(), file.read_text()
    other = file.with_suffix(".new")
    other.write_text(text.replace("max(v)", "min(v)"))
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(file)
    for _ in range(2):
        with pytest.raises(dg.Failure, match="E0361"):
            _looked(skin, instance, cursor)
    file.write_text(text)
    assert "say" in str(_looked(skin, instance, cursor)[0].skip_message)
    assert len(planned) == 4
