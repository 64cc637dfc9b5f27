"""`floodmark` in processes of their own, each forked from one that has imported the engine.

A process that starts from nothing imports for a second and a half what these have already.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from threading import Lock

from floodmark.failpoints import VARIABLE

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["floodmark.cli.app", "floodmark.api", "floodmark.spark.session", "pyspark.sql.connect.session"]
)
# Who starts a process also asks of all others whether they have ended; that is told once.
_asking = Lock()


class Child:
    """A command of `floodmark` that runs, dies at its `failpoint` or is killed.

    It starts in `folder`, by default where the tests run.
    """

    def __init__(
        self, *arguments: str, failpoint: str | None = None, folder: Path | None = None
    ) -> None:
        self.arguments = arguments
        self._said = Path(tempfile.mkdtemp(prefix="child-"))
        armed = {} if failpoint is None else {VARIABLE: failpoint}
        self._process = _CONTEXT.Process(
            target=_invoke,
            args=(arguments, {**os.environ, **armed}, folder or Path.cwd(), self._said),
        )
        with _asking:
            self._process.start()

    def runs(self) -> bool:
        """Return whether it has not ended yet."""
        with _asking:
            return self._process.is_alive()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def ended(self, timeout: float = 180) -> CompletedProcess[str]:
        """Return what it said and its code, -9 where it was killed, once it has ended.

        After `timeout` seconds it is killed and TimeoutExpired raised.
        """
        if not wait([self._process.sentinel], timeout):
            self.kill()
            raise TimeoutExpired(self.arguments, timeout)
        with _asking:
            code = self._process.exitcode
        assert code is not None
        out, err = ((self._said / name).read_text() for name in ("out", "err"))
        shutil.rmtree(self._said)
        return CompletedProcess(self.arguments, code, out, err)


def floodmark(
    *arguments: str, failpoint: str | None = None, folder: Path | None = None
) -> CompletedProcess[str]:
    """Run a command of `floodmark`; with a failpoint, not to be killed there is a failure."""
    ended = Child(*arguments, failpoint=failpoint, folder=folder).ended()
    killed = ended.returncode == -signal.SIGKILL
    assert killed is (failpoint is not None), ended.stdout + ended.stderr
    return ended


def _invoke(
    arguments: tuple[str, ...], variables: Mapping[str, str], folder: Path, said: Path
) -> None:
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
        file = os.open(said / name, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(file, stream.fileno())
    from floodmark.cli import main

    sys.argv = ["floodmark", *arguments]
    try:
        main()
    finally:
        # A process that is forked leaves without them.
        atexit._run_exitfuncs()
