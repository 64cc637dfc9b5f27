"""Who waits for another thread notices that its own time is over."""

from __future__ import annotations

import threading

import pytest

from floodmark.errors import DataError
from floodmark.spark.deadline import Deadline, hold


def _deadline(seconds: float, given_up: list[str]) -> Deadline:
    return Deadline("a view", seconds, lambda: None, lambda: given_up.append("server"), grace=30)


def test_a_lock_is_not_waited_for_beyond_the_deadline() -> None:
    lock, given_up = threading.Lock(), list[str]()
    with lock:
        deadline = _deadline(0.1, given_up)
        with pytest.raises(DataError, match=r"E0459.*a view took longer"), hold(lock):
            pass
        deadline.end()
    assert not given_up, "the server answers the others"
    with hold(lock):
        assert lock.locked()
    assert not lock.locked()


def test_a_lock_is_waited_for_without_a_deadline_and_before_it() -> None:
    for deadline in (None, _deadline(60, [])):
        lock = threading.Lock()
        lock.acquire()
        threading.Timer(0.2, lock.release).start()
        with hold(lock):
            assert lock.locked()
        assert not lock.locked()
        if deadline is not None:
            deadline.end()
