"""Sessions end whole, whatever one of them says to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import floodmark
from floodmark.spark.confs import SparkConfig
from floodmark.spark.session import Sessions


class _Session:
    """What `Sessions.close` needs of a session."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.stopped = False

    def getTags(self) -> set[str]:
        return set()

    def clearTags(self) -> None:
        pass

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


RAISING = """
import dataclasses, sys
import floodmark
from floodmark.spark.confs import default_config

def work(root):
    config = dataclasses.replace(default_config(), shuffle_partitions=2)
    fm = floodmark.connect(root + "/warehouse", spark=config)
    fm.execute("CREATE SOURCE s (a INT) "
               f"WITH (connector = 'files', path = '{root}/landing') FORMAT PLAIN ENCODE JSON")
    fm.advance()
    raise ValueError("of the program")

work(sys.argv[1])
"""


@pytest.mark.spark
def test_a_program_that_raises_ends_though_nothing_was_closed(
    tmp_path: Path, sessions: Sessions
) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "a.json").write_text('{"a": 1}\n')
    root = str(Path(floodmark.__file__).parent.parent)
    # Half gone, Python waited for gRPC for ever.
    ended = subprocess.run(
        [sys.executable, "-c", RAISING, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.rstrip().endswith("ValueError: of the program")


def test_a_remote_session_that_infers_constraints_is_refused() -> None:
    asserted = SparkConfig(1, 1024, 1, remote="sc://elsewhere").session_confs
    assert asserted["spark.sql.constraintPropagation.enabled"] == "false"
