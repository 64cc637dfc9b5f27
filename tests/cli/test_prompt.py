"""The prompt of `floodmark sql`, on a terminal as a person has it."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from floodmark.api import Floodmark
from floodmark.cli.prompt import split_statements
from floodmark.cli.session import cancellable

DONE, MORE = "floodmark=> ", "floodmark-> "
INTERRUPT, END = "\x03", "\x04"
SECONDS = 300.0


@dataclass
class Terminal:
    """A process on a pseudo-terminal."""

    pid: int
    screen: int

    def type(self, text: str, until: str, again: str = "") -> str:
        """Type something and return what is shown up to a text; not to see it is a failure."""
        os.write(self.screen, text.encode())
        return self.read(until, again)

    def interrupt(self) -> str:
        """Type Ctrl-C and return what is shown up to the prompt.

        Python's readline loses one that comes after it has shown its prompt and before it waits
        for input; whoever sees nothing happen types it again.
        """
        return self.type(INTERRUPT, DONE, again=INTERRUPT)

    def read(self, until: str, again: str = "") -> str:
        shown, deadline = "", time.monotonic() + SECONDS
        while not shown.endswith(until):
            assert time.monotonic() < deadline, shown
            if select.select([self.screen], [], [], 5.0)[0]:
                shown += self._read(shown).decode().replace("\r\n", "\n")
            elif not shown:
                os.write(self.screen, again.encode())
        return shown

    def _read(self, shown: str) -> bytes:
        try:
            return os.read(self.screen, 4096)
        except OSError as error:
            raise AssertionError(f"the process has ended: {shown}") from error

    def ends(self) -> int:
        """Return the exit code."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """Yield a prompt that has been started on an empty warehouse."""
    command = [sys.executable, "-c", "from floodmark.cli import main; main()", "sql"]
    pid, screen = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.environ.update(
            TERM="dumb",
            FLOODMARK_WAREHOUSE=str(tmp_path / "warehouse"),
            FLOODMARK_HISTORY=str(tmp_path / "history"),
        )
        os.execv(sys.executable, command)
    started = Terminal(pid, screen)
    started.read(DONE)
    yield started
    os.close(screen)


def test_a_conversation_without_spark(terminal: Terminal) -> None:
    assert "no objects yet" in terminal.type("\\d\n", DONE)
    assert "\\timing" in terminal.type("\\?\n", DONE)
    assert "is no command here" in terminal.type("\\nonsense\n", DONE)
    assert "Timing is on." in terminal.type("\\timing\n", DONE)
    terminal.type("SHOW\n", MORE)
    terminal.type("-- with a ; in a comment\n", MORE)
    shown = terminal.type("TABLES;\n", DONE)
    assert "(0 rows)" in shown and "Time: " in shown
    wrong = terminal.type("SELECT 1 + ;\n", DONE)
    assert "error[E01" in wrong and "^" in wrong
    assert "E0201" in terminal.type("\\d nothing\n", DONE)
    terminal.type("SELECT 'half of a string;\n", MORE)
    assert "error" not in terminal.interrupt()
    assert terminal.type("SHOW TABLES; SHOW SOURCES;\n", DONE).count("(0 rows)") == 2
    os.write(terminal.screen, END.encode())
    assert terminal.ends() == 0


def test_q_leaves(terminal: Terminal) -> None:
    os.write(terminal.screen, b"\\q\n")
    assert terminal.ends() == 0


@pytest.mark.spark
def test_a_statement_is_given_up_and_the_next_one_runs(terminal: Terminal) -> None:
    assert "(1 row)" in terminal.type("SELECT 1;\n", DONE)
    many = ", ".join(f"(VALUES (1), (2)) AS t{i}(x)" for i in range(60))
    os.write(terminal.screen, f"SELECT sum(t0.x) FROM\n{many};\n".encode())
    terminal.read("t59(x);\n")
    terminal.interrupt()
    assert "    3" in terminal.type("SELECT 3;\n", DONE)
    os.write(terminal.screen, END.encode())
    assert terminal.ends() == 0


def test_no_interrupt_is_under_way_once_a_statement_is_given_up() -> None:
    begun, ended = threading.Event(), threading.Event()

    class Slow:
        def interrupt(self) -> None:
            begun.set()
            time.sleep(0.5)
            ended.set()

    with pytest.raises(KeyboardInterrupt), cancellable(cast(Floodmark, Slow())):
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            assert begun.wait(SECONDS)
    assert ended.is_set()


@pytest.mark.parametrize(
    ("typed", "whole", "left"),
    [
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT 1;", ["SELECT 1;"], ""),
        ("SELECT 1; -- done", ["SELECT 1;"], ""),
        ("SELECT ';", [], "SELECT ';"),
        ("SELECT $$;$$;", ["SELECT $$;$$;"], ""),
        ("/* ; */ SELECT 1; SELECT\n2", ["/* ; */ SELECT 1;"], "SELECT\n2"),
        (";;", [], ""),
        ("SELECT 1a;", ["SELECT 1a;"], ""),
    ],
)
def test_statements_end_with_their_semicolon(typed: str, whole: list[str], left: str) -> None:
    assert split_statements(typed) == (whole, left)
