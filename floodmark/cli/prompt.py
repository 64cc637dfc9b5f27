"""The prompt of `floodmark sql`: statements over several lines, psql's commands, errors that stay.

A statement runs when its semicolon is typed. Ctrl-C gives up the line, or the statement that runs;
Ctrl-D leaves.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from floodmark.cli.options import CommandSettings
from floodmark.cli.rendering import columns, duration
from floodmark.cli.session import cancellable
from floodmark.errors import FloodmarkError, SqlSyntaxError, TransientError

if TYPE_CHECKING:
    from floodmark.api import Floodmark
    from floodmark.stream.objects.analysed import AnalysedObject

HISTORY_LINES = 1000
HISTORY_VARIABLE = "FLOODMARK_HISTORY"
"""Names the file of earlier statements; without it they are in the cache folder."""
_COMMANDS = """\\d          list the objects           \\timing     show how long statements take
\\d NAME     describe an object         \\i FILE     run a file
\\?          this list                  \\q          leave (so does Ctrl-D)
A statement ends with a semicolon; Ctrl-C gives it up."""


class _Leave(Exception):
    """Ends the prompt."""


@dataclass
class Prompt:
    """A conversation: `run` executes a text of whole statements and prints what comes of it."""

    connection: Floodmark
    settings: CommandSettings
    run: Callable[[str], None]
    timing: bool = False
    _typed: str = field(default="", init=False)

    def converse(self) -> None:
        """Read and run until the person leaves."""
        typer.echo("Floodmark: a statement ends with ;   \\? lists commands, \\q leaves")
        with _editing(self._names):
            while True:
                try:
                    self._take(input(self._prompt_text()))
                except KeyboardInterrupt:
                    typer.echo("")
                    self._typed = ""
                except EOFError:
                    typer.echo("")
                    return
                except _Leave:
                    return

    def _prompt_text(self) -> str:
        """Return the prompt; as in psql a * tells of a transaction, a ! of one that has failed."""
        transaction = self.connection.transaction
        sign = "!" if transaction.has_failed else "*" if transaction.is_open else ""
        return f"floodmark{'-' if self._typed else '='}{sign}> "

    def _take(self, line: str) -> None:
        """Take a line in: a command, or a part of a statement."""
        if not self._typed and line.lstrip().startswith("\\"):
            _remember(line)
            self._command(line.strip().rstrip(";").split())
            return
        self._typed = f"{self._typed}\n{line}" if self._typed else line.lstrip()
        ready, rest = split_statements(self._typed)
        if ready:
            _remember(self._typed)
        self._typed = rest
        for statement in ready:
            self._attempt(lambda text=statement: self.run(text))  # type: ignore[misc]

    def _attempt(self, action: Callable[[], None]) -> None:
        """Run something; what goes wrong is shown and the conversation goes on."""
        started = time.perf_counter()
        try:
            with cancellable(self.connection):
                action()
        except KeyboardInterrupt:
            typer.echo(f"cancelled: {_open_epoch_notice(self.connection)}", err=True)
        except FloodmarkError as error:
            typer.echo(error.render(), err=True)
            if isinstance(error, TransientError):
                # The server may be gone: the next statement attaches anew.
                self.connection.close()
        if self.timing:
            typer.echo(f"Time: {duration(time.perf_counter() - started)}")

    def _command(self, words: list[str]) -> None:
        match words:
            case ["\\q" | "\\quit"]:
                raise _Leave
            case ["\\d" | "\\dt" | "\\dv" | "\\dm"]:
                self._attempt(lambda: typer.echo(objects_table(self.connection)))
            case ["\\d" | "\\d+", name]:
                self._attempt(lambda: typer.echo(describe(self.connection, name)))
            case ["\\timing"]:
                self.timing = not self.timing
                typer.echo(f"Timing is {'on' if self.timing else 'off'}.")
            case ["\\timing", "on" | "off" as word]:
                self.timing = word == "on"
                typer.echo(f"Timing is {word}.")
            case ["\\i", name]:
                self._attempt(lambda: self._run_file(Path(name)))
            case ["\\?" | "\\h" | "\\help"]:
                typer.echo(_COMMANDS)
            case _:
                typer.echo(f"error: {words[0]} is no command here\nhelp: \\? lists them", err=True)

    def _run_file(self, path: Path) -> None:
        from floodmark.sql.files import read_sql

        self.run(read_sql(path.expanduser()))

    def _names(self) -> list[str]:
        from floodmark.sql.words import RESERVED

        names = sorted(word.upper() for word in RESERVED)
        with suppress(FloodmarkError):
            names = [*self.connection.deployed.pipeline.objects, *names]
        return names


def split_statements(text: str) -> tuple[list[str], str]:
    """Return the statements of a text that are whole, each with its semicolon, and what is left.

    >>> split_statements("SELECT ';'; SELECT")
    (["SELECT ';';"], 'SELECT')
    """
    from floodmark.sql.lexer import tokenize

    try:
        tokens = tokenize(text)
    except SqlSyntaxError as error:
        if error.message.startswith("unterminated"):
            return [], text
        # The parser says what is wrong once the statement looks finished.
        return ([text], "") if text.rstrip().endswith(";") else ([], text)
    ready, start = [], 0
    for token in tokens:
        if token.value == ";" and token.end - token.start == 1:
            ready.append(text[start : token.end].strip())
            start = token.end
    # What is left without a token is blanks and comments.
    rest = text[start:].lstrip() if any(t.start >= start for t in tokens[:-1]) else ""
    return [statement for statement in ready if statement != ";"], rest


def objects_table(connection: Floodmark) -> str:
    """Return the table of all objects: name, kind, mode, stream key."""
    objects = connection.deployed.pipeline.objects.values()
    if not objects:
        return "there are no objects yet"
    rows = [[o.name, o.kind.value, str(o.relation.mode), ", ".join(_key(o))] for o in objects]
    return columns(["name", "kind", "mode", "key"], rows)


def describe(connection: Floodmark, name: str) -> str:
    """Return an object's columns, and below them what it is, reads and feeds."""
    obj = connection.find(name.lower() if not name.startswith('"') else name.strip('"'))
    relation = obj.relation
    rows = [[c.name, str(c.type), "" if c.nullable else "not null"] for c in relation.visible]
    readers = [o.name for o in connection.deployed.pipeline.objects.values() if obj.key in o.reads]
    facts = {
        "key": ", ".join(_key(obj)),
        "mode": str(relation.mode),
        "watermark": ", ".join(column for column, _ in relation.watermarks),
        "reads": ", ".join(obj.reads),
        "read by": ", ".join(readers),
    }
    lines = [f"{obj.kind.value} {obj.name}", "", columns(["column", "type", ""], rows), ""]
    return "\n".join(lines + [f"{key:<9}  {value}" for key, value in facts.items() if value])


def _key(obj: AnalysedObject) -> list[str]:
    return [column.removeprefix("_") for column in obj.relation.stream_key]


def _open_epoch_notice(connection: Floodmark) -> str:
    open_ = connection.warehouse.log.head().open
    if open_ is None:
        return "nothing has changed"
    return f"epoch {open_.epoch} stays open; the next statement or run finishes it"


@contextmanager
def _editing(names: Callable[[], list[str]]) -> Iterator[None]:
    """Edit lines with history and completion, where Python has readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    from floodmark.spark.cache import cache_folder

    chosen = os.environ.get(HISTORY_VARIABLE)
    history = Path(chosen) if chosen else cache_folder() / "sql_history"
    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_auto_history(False)
    readline.set_history_length(HISTORY_LINES)
    readline.set_completer(_completer(names))
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        with suppress(OSError):
            readline.write_history_file(history)


def _completer(names: Callable[[], list[str]]) -> Callable[[str, int], str | None]:
    def complete(text: str, state: int) -> str | None:
        fits = [n for n in names() if text and n.lower().startswith(text.lower())]
        return fits[state] if state < len(fits) else None

    return complete


def _remember(text: str) -> None:
    """Keep a whole statement as one entry of the history."""
    with suppress(ImportError):
        import readline

        readline.add_history(" ".join(text.split("\n")))
