"""The check that what emits on window close is final counts what is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from floodmark.limits import LIMITS
from floodmark.session.audit.checks import run_checks
from floodmark.session.inspect.closed_windows import late_condition
from floodmark.session.inspect.reporting import EpochStep, ObjectReport, reports
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.storage.table import DataFile
from tests.dagster.pipeline_skin import Skin, make_skin  # noqa: F401


def test_statistics_say_that_nothing_came_after_its_close(skin: Skin) -> None:
    hours = skin.warehouse.pipeline()["hours"]
    marks = {2: datetime(2013, 1, 1, 2), 3: datetime(2013, 1, 1, 5)}
    steps = [
        EpochStep(epoch, mark, ObjectRecord("hours", {}, watermarks={"window_start": mark}),
             ObjectRecord("hours", {}))
        for epoch, mark in marks.items()
    ]  # fmt: skip

    def file(first: int, last: int, hour: int) -> DataFile:
        low = {"__epoch": first, "window_start": datetime(2013, 1, 1, hour)}
        return DataFile("a", 1, 1, low, {"__epoch": last}, {})

    assert (
        late_condition(hours, steps, [file(1, 1, 0), file(2, 2, 2), file(3, 3, 5)], LIMITS) is None
    )
    merged = late_condition(hours, steps, [file(1, 2, 0), file(3, 3, 5)], LIMITS)
    assert merged == "(__epoch = 2 AND `window_start` < TIMESTAMP_NTZ'2013-01-01 02:00:00.000000')"
    assert "__epoch = 3" in (late_condition(hours, steps, [file(3, 3, 2)], LIMITS) or "")
    assert late_condition(hours, [], [file(2, 2, 0)], LIMITS) is None


@pytest.mark.spark
def test_rows_after_their_close_are_counted(skin: Skin) -> None:
    with skin.connect() as floodmark:
        skin.warehouse.deploy(floodmark)
        for number, hour in ((1, 1), (2, 4), (3, 8)):
            skin.land(number, hour)
            floodmark.advance()
        (report,) = [r for r in reports(floodmark.warehouse, {}) if r.key == "hours"]

        def final(of: ObjectReport) -> dict[str, int]:
            outcomes = run_checks(floodmark.warehouse, [of], {})["hours"]
            return dict(next(o.violations for o in outcomes if o.check == "closed_windows_final"))

        nothing = {"rows_below_watermark": 0, "windows_again": 0, "rows_taken_back": 0}
        assert final(report) == nothing
        # As if all that the last epoch closed had been closed before it.
        last = report.steps[-1]
        assert last.before is not None
        closed = replace(last, before=replace(last.before, watermarks=last.after.watermarks))
        doctored = replace(report, steps=(*report.steps[:-1], closed))
        assert final(doctored) == {**nothing, "rows_below_watermark": 2}
