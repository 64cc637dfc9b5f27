"""The bar that commands show while files or tables pass by, on a terminal alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from floodmark.storage.progress import ReportProgress


@contextmanager
def progress(what: str, as_json: bool) -> Iterator[ReportProgress | None]:
    """Yield what moves a bar on stderr; None for programs and where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn
    from rich.table import Column

    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        yield None
        return
    name = TextColumn("{task.fields[name]}", table_column=Column(no_wrap=True, overflow="ellipsis"))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), name)
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, name="")
        yield lambda name, done, total: bar.update(task, completed=done, total=total, name=name)
