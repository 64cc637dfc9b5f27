"""One holder at a time, the dead replaced at once, the waiters in order."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from floodmark.errors import TransientError
from floodmark.storage.lease.lease import lease_of

HOLD = """
import os, sys, time
from floodmark.storage.lease.lease import lease_of
with lease_of(sys.argv[1]).hold("hold for a test"):
    if sys.argv[2] == "fork" and os.fork() == 0:
        sys.stdin.read(); os._exit(0)
    print("held", flush=True)
    sys.stdin.read()
"""


def start_holder(root: Path, mode: str = "plain") -> subprocess.Popen:
    command = [sys.executable, "-c", HOLD, str(root), mode]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_held_and_free(tmp_path: Path) -> None:
    lease = lease_of(tmp_path)
    with lease.hold("one"):
        holder = lease.holder()
        assert holder is not None and (holder.pid, holder.purpose) == (os.getpid(), "one")
    assert lease.holder() is None
    with lease.hold("two"):
        pass


def test_a_waiter_gives_up_and_names_the_holder(tmp_path: Path) -> None:
    process = start_holder(tmp_path)
    with pytest.raises(TransientError) as caught, lease_of(tmp_path).hold("mine", wait=0.05):
        pass
    assert caught.value.code == "E0503"
    assert f"process {process.pid}" in str(caught.value) and "hold for a test" in str(caught.value)
    process.communicate("")
    with lease_of(tmp_path).hold("mine", wait=5):
        pass


@pytest.mark.parametrize("mode", ["plain", "fork"])
def test_a_killed_holder_is_replaced(tmp_path: Path, mode: str) -> None:
    process = start_holder(tmp_path, mode)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with lease_of(tmp_path).hold("mine", wait=2):
        holder = lease_of(tmp_path).holder()
        assert holder is not None and holder.pid == os.getpid()
    process.stdin.close()  # type: ignore[union-attr]


def test_waiters_come_in_order(tmp_path: Path) -> None:
    lease = lease_of(tmp_path)
    order: list[int] = []

    def wait(i: int) -> None:
        with lease.hold(f"waiter {i}", wait=10):
            order.append(i)

    threads = [threading.Thread(target=wait, args=(i,)) for i in range(5)]
    tickets = tmp_path / "_floodmark" / "lease"
    with lease.hold("first"):
        for i, thread in enumerate(threads):
            thread.start()
            while len(list(tickets.glob("ticket-*"))) < i + 2:
                pass
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_an_error_gives_the_lease_back(tmp_path: Path) -> None:
    lease = lease_of(tmp_path)
    with pytest.raises(ValueError), lease.hold("breaks"):
        raise ValueError
    with lease.hold("next", wait=0):
        pass


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = lease_of(tmp_path)
    with lease.hold("before"):
        pass
    files = set((tmp_path / "_floodmark" / "lease").iterdir())
    descriptors = set(os.listdir("/proc/self/fd"))

    def is_full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", is_full)
        for _ in range(3):
            with pytest.raises(TransientError) as caught, lease.hold("mine"):
                pass
            assert caught.value.code == "E0504"
    assert set((tmp_path / "_floodmark" / "lease").iterdir()) == files
    assert set(os.listdir("/proc/self/fd")) == descriptors
    with lease.hold("after", wait=0):
        pass


STRAY = ["ticket-x", "ticket-", "ticket-²", "ticket-1", "ticket-" + "9" * 40, ".DS_Store", "note"]


@pytest.mark.parametrize("folder", [False, True])
def test_what_somebody_put_there_is_in_nobodys_way(tmp_path: Path, folder: bool) -> None:
    lease = lease_of(tmp_path)
    with lease.hold("makes the folder"):
        pass
    place = tmp_path / "_floodmark" / "lease"
    if folder:
        (place / "holder").unlink()
    names = [*STRAY, "ticket-000000000001", *(["holder"] if folder else [])]
    for name in names:
        path = place / name
        if folder:
            path.mkdir()
            (path / "mine").write_text("kept")
        else:
            path.write_text('{"pid": "?", "started": [], "host": 0, "since": 0, "purpose": 0}')
    (place / "holder" / "mine" if folder else place / "holder").write_text("{}")
    for number in range(2):
        with lease.hold(f"turn {number}", wait=5):
            assert (holder := lease.holder()) is not None and holder.purpose == f"turn {number}"
        assert lease.holder() is None
    assert len(list(place.rglob("mine"))) == (len(names) if folder else 0)
