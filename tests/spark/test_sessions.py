"""Sessions end whole, whatever one of them says to it."""

from __future__ import annotations

from typing import Any

import pytest

from floodmark.spark.session import Sessions


class _Session:
    """What `Sessions.close` needs of a session."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True
        if self.error is not None:
            raise self.error


def test_a_session_that_does_not_stop_keeps_neither_the_other_nor_the_lock() -> None:
    main: Any = _Session()
    ingest: Any = _Session(ConnectionError("the server is gone"))
    released: list[bool] = []
    sessions = Sessions(main, lambda: ingest, lambda: released.append(True))
    assert sessions.ingest is ingest
    with pytest.raises(ConnectionError):
        sessions.close()
    assert main.stopped and ingest.stopped and released == [True]
