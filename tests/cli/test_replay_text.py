"""What `floodmark replay` prints, and its exit codes."""

from __future__ import annotations

from floodmark.cli.replay import exit_code, replay_json, text_of
from floodmark.session.audit import ObjectReplay, ReplayOutcome, RowDifference

SAME = ObjectReplay(7, "public.s", ReplayOutcome.SAME, 1200, "a1b2c3d4e5f60718", "a1b2c3d4e5f60718")
ROW = RowDifference(
    "change",
    "stored",
    1,
    ("__kind", "y"),
    ("character varying", "time without time zone"),
    ("+I", 3_600_000_000),
)
DIFFERS = ObjectReplay(
    7,
    "v",
    ReplayOutcome.DIFFERS,
    3,
    "00000000000000aa",
    "00000000000000bb",
    (ROW,),
    "noisy() is not IMMUTABLE",
)
GONE = ObjectReplay(7, "w", ReplayOutcome.IMPOSSIBLE, cause="w began anew in epoch 9")

SHOWN = """\
epoch  object     rows  digest            replay
    7  public.s  1,200  a1b2c3d4e5f60718  same
    7  v             3  00000000000000aa  differs
       noisy() is not IMMUTABLE
       stored   change: __kind +I, y 01:00:00
    7  w                                  cannot be replayed
       w began anew in epoch 9"""


def test_each_object_has_a_line_and_what_differs_its_rows() -> None:
    assert text_of([SAME, DIFFERS, GONE]) == SHOWN
    assert text_of([]).startswith("nothing to replay")


def test_exit_codes() -> None:
    assert exit_code([SAME]) == exit_code([]) == 0
    assert exit_code([SAME, DIFFERS, GONE]) == 2
    assert exit_code([GONE]) == exit_code([SAME, GONE]) == 1


def test_json_has_the_rows() -> None:
    found = replay_json(DIFFERS)
    assert found["replay"] == "differs"
    assert found["differences"] == [
        {"side": "stored", "part": "change", "count": 1, "row": {"__kind": "+I", "y": "01:00:00"}}
    ]
