"""What `floodmark backfill` says."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from floodmark.cli.app import app
from floodmark.cli.backfill import correction_json, text_of
from floodmark.tools.corrections.correct import CorrectionResult, EpochSpan, parse_time

SPAN = EpochSpan(parse_time("2024-05-01"), parse_time("2024-05-02T06:00+02:00"))


def test_corrections_are_counted_in_words() -> None:
    done = CorrectionResult("hourly", SPAN, 7, 2, {"-U": 1200, "+U": 1200, "+I": 1, "-D": 2})
    assert text_of(done) == (
        "hourly: 1,200 changed, 1 added, 2 taken back: SELECT * FROM hourly__corrections"
    )
    assert text_of(CorrectionResult("hourly", SPAN, 7)) == "nothing to correct"
    taken_in = text_of(CorrectionResult("hourly", SPAN, 7, taken_in=8))
    assert taken_in == "nothing to correct\nin the rows of hourly since epoch 8"
    assert json.loads(json.dumps(correction_json(done))) == {
        "object": "hourly", "from": "2024-05-01T00:00:00+00:00", "to": "2024-05-02T04:00:00+00:00",
        "epoch": 7, "backfill": 2, "corrections": {"-U": 1200, "+U": 1200, "+I": 1, "-D": 2},
        "in_place_epoch": None,
    }  # fmt: skip


def test_a_time_that_is_none_is_said_to_be_one(tmp_path: object) -> None:
    arguments = ("backfill", "v", "--from", "yesterday", "--to", "2024-05-01")
    found = CliRunner().invoke(app, [*arguments, "--warehouse", str(tmp_path)])
    assert found.exit_code == 1 and "E0302" in found.stderr
