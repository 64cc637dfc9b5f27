"""What a log has written outside that is ahead of this one is not written over, nor counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from floodmark import failpoints
from floodmark.errors import FloodmarkError
from tests.connectors.sinks.test_senders import FIRST, SECOND, Change, Place

FILES = "connector = 'files', type = 'retract'"
JSON = "FORMAT PLAIN ENCODE JSON"
DELTA = "connector = 'delta', type = 'upsert'"


class KilledError(BaseException):
    """The end of a process, which nothing in it handles."""


KINDS = [(FILES, JSON), (DELTA, "")]


def send(place: Place, log: str, epoch: int, *changes: Change, begins: bool = False) -> int:
    """Send an epoch of a log, whose records are called after it; those up to 2 are of all logs."""

    def records(number: int) -> str:
        return f"{'both' if number <= 2 else log}-{number}"

    return place.sender.send(epoch, place.outgoing(epoch, changes), initial=begins, records=records)


def refused(place: Place, log: str, epoch: int, *changes: Change) -> str:
    with pytest.raises(FloodmarkError) as raised:
        send(place, log, epoch, *changes)
    assert raised.value.code == "E0745"
    return f"{raised.value.message} {raised.value.hint}"


@pytest.mark.parametrize(("options", "format_"), KINDS)
@pytest.mark.parametrize(("lost", "next_"), [((3,), 3), ((3, 4), 3), ((3,), 4), ((3, 5), 4)])
def test_epochs_that_a_restored_log_has_lost_are_refused(
    tmp_path: Path, options: str, format_: str, lost: tuple[int, ...], next_: int
) -> None:
    place = Place(tmp_path, options, format_)
    send(place, "lost", 1, *FIRST, begins=True)
    send(place, "lost", 2, *SECOND)
    for epoch in lost:
        assert send(place, "lost", epoch, ("+I", 40 + epoch, "x")) == 1
        assert send(place, "lost", epoch, ("+I", 40 + epoch, "x")) == 1
    there = {p.name: p.read_bytes() for p in place.out.rglob("*") if p.is_file()}
    for changes in ([("+I", 50, "y")], []):
        assert f"has an epoch {lost[-1]} that is not of this log" in refused(
            place, "restored", next_, *changes
        )
    assert {p.name: p.read_bytes() for p in place.out.rglob("*") if p.is_file()} == there


def test_a_folder_goes_on_once_the_files_of_lost_epochs_are_gone(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES, JSON)
    send(place, "lost", 1, *FIRST, begins=True)
    send(place, "lost", 2, *SECOND)
    send(place, "lost", 3, ("+I", 5, "x"))
    assert "remove its files of the epochs from 3 on" in refused(place, "new", 3, ("+I", 6, "y"))
    for path in place.out.glob("f-0000000003-*"):
        path.unlink()
    assert send(place, "new", 3, ("+I", 6, "y")) == 1
    assert send(place, "new", 3, ("+I", 6, "y")) == 1
    assert send(place, "new", 4, ("+I", 7, "z")) == 1
    assert len(place.files) == 4
    assert json.loads((place.out / "_sink.json").read_text())["begins"] == 1


def test_a_folder_of_a_former_version_goes_on(tmp_path: Path) -> None:
    place = Place(tmp_path, FILES, JSON)
    send(place, "log", 1, *FIRST, begins=True)
    send(place, "log", 2, *SECOND)
    mark = json.loads((place.out / "_sink.json").read_text())
    former = {k: v for k, v in mark.items() if k not in ("epoch", "record")}
    (place.out / "_sink.json").write_text(json.dumps(former))
    assert send(place, "log", 3, ("+I", 6, "y")) == 1
    assert json.loads((place.out / "_sink.json").read_text()) == {
        **former, "epoch": 3, "record": "log-3",
    }  # fmt: skip
    (place.out / "_sink.json").write_text(json.dumps(former))
    refused(place, "restored", 2, ("+I", 7, "y"))


@pytest.mark.parametrize("point", ["outside_written", "outside_in_place"])
def test_the_files_of_a_killed_attempt_go(
    tmp_path: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(name: str) -> None:
        if name == point:
            raise KilledError

    place = Place(tmp_path, DELTA)
    send(place, "log", 1, *FIRST, begins=True)
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(failpoints, "reach", kill)
        send(place, "log", 2, *SECOND)
    assert bool(list(place.out.rglob("_owner"))) == (point == "outside_written")
    assert send(place, "log", 2, *SECOND) == 3
    assert len(list(place.out.glob("2-*"))) == 1
    assert list(place.out.rglob("_owner")) == []
    assert sorted(place.rows) == [(1, "c"), (3, None)]


def test_the_files_of_others_stay(tmp_path: Path) -> None:
    place = Place(tmp_path, DELTA)
    send(place, "log", 1, *FIRST, begins=True)
    others = place.out / "2-77"
    others.mkdir()
    (others / "_owner").write_text("floodmark/another/f")
    (others / "part.parquet").write_bytes(b"")
    send(place, "log", 2, *SECOND)
    assert (others / "part.parquet").exists()
