"""Progress of a run in another process, from the epoch log: a bar on a terminal, else lines."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from floodmark.storage.logs.epochs import EpochLog

POLL_S = 0.2


def watch(process: subprocess.Popen[bytes], root: Path, rows: int, after: int) -> int:
    """Show the rows that the epochs after the given one take in, of so many; return the exit code.

    `root` is the warehouse's folder.
    """
    if not sys.stdout.isatty():
        for line in _lines(process, EpochLog(root), rows, after):
            typer.echo(line)
        return process.wait()
    # Loading it takes longer than a run with nothing new.
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    shown = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
    )
    with Progress(*shown, TimeElapsedColumn()) as progress:
        task = progress.add_task("starting", total=rows)
        for epoch, taken in _follow_epochs(process, EpochLog(root), after):
            progress.update(task, completed=taken, description=f"epoch {epoch}")
    return process.wait()


def _lines(process: subprocess.Popen[bytes], log: EpochLog, rows: int, after: int) -> Iterator[str]:
    for epoch, taken in _follow_epochs(process, log, after):
        yield f"epoch {epoch}: {taken:,} of {rows:,} rows"


def _follow_epochs(
    process: subprocess.Popen[bytes], log: EpochLog, after: int
) -> Iterator[tuple[int, int]]:
    """Yield each epoch once it is sealed, with the rows that sources have given since."""
    taken, ended = 0, False
    while not ended:
        try:
            process.wait(POLL_S)
            ended = True
        except subprocess.TimeoutExpired:
            pass
        for epoch in range(after + 1, log.head().sealed + 1):
            records = log.seal_record(epoch).objects
            taken += sum(records[s].rows_in for s in log.open_record(epoch).splits if s in records)
            after = epoch
            yield epoch, taken
