"""Programs: SQL, rows in per epoch and the changelogs that must come out, as one text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from floodmark.testing.text import START, Cells, Line, moment, without_comment

_EPOCH = re.compile(r"^epoch\s+(\d+)(?:\s+at\s+(\S+))?")
ASIDE = ("late ", "dead ")
"""How the labels of rows that were put aside start."""


class ProgramError(ValueError):
    """A text is not a program."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch: rows in, statements, and by label what must come out, also `late x`, `dead x`."""

    number: int
    now: datetime
    inputs: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    dml: tuple[str, ...] = ()
    expected: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program; `checked` are the outputs that some epoch has a label for."""

    name: str
    title: str
    sql: str
    epochs: tuple[Epoch, ...]

    @property
    def outputs(self) -> frozenset[str]:
        """Return the objects whose changelog is compared in every epoch."""
        labels = {label for epoch in self.epochs for label in epoch.expected}
        return frozenset(label for label in labels if not label.startswith(ASIDE))


@dataclass
class _Draft:
    """An epoch while its lines are read."""

    number: int
    now: datetime
    cells: Cells = field(default_factory=Cells)


def load(path: Path) -> Program:
    """Read a program file."""
    return parse(path.read_text(encoding="utf-8"), path.stem)


def parse(text: str, name: str) -> Program:
    """Return the program of a text; raises `ProgramError` with the line number."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if _EPOCH.match(line)), len(lines))
    start = next((i for i, line in enumerate(lines) if line.startswith("sql:")), None)
    if start is None or start > first:
        raise ProgramError(f"{name}: no `sql:` before the first epoch")
    title = " ".join(line.lstrip("- ").strip() for line in lines[:start]).strip()
    sql = "\n".join([lines[start].removeprefix("sql:"), *lines[start + 1 : first]]).strip()
    inputs = input_names(sql)
    drafts = _drafts(lines, first, name)
    return Program(name, title, sql, tuple(_finish(draft, inputs) for draft in drafts))


def input_names(sql: str) -> frozenset[str]:
    """Return the sources and tables that the SQL creates.

    >>> sorted(input_names("CREATE TABLE t (a INT); CREATE SOURCE IF NOT EXISTS s (b INT)"))
    ['s', 't']
    """
    pattern = r"\bCREATE\s+(?:TABLE|SOURCE)\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)"
    return frozenset(re.findall(pattern, sql, flags=re.IGNORECASE))


def _finish(draft: _Draft, inputs: frozenset[str]) -> Epoch:
    given = {k: tuple(v) for k, v in draft.cells.rows.items() if k in inputs}
    others = {k: tuple(v) for k, v in draft.cells.rows.items() if k not in inputs}
    expected = {label.removeprefix("out "): rows for label, rows in others.items()}
    return Epoch(draft.number, draft.now, given, tuple(draft.cells.dml), expected)


def _drafts(lines: list[str], first: int, name: str) -> list[_Draft]:
    drafts: list[_Draft] = []
    for number, raw in enumerate(lines[first:], first + 1):
        line = without_comment(raw)
        try:
            if head := _EPOCH.match(line):
                drafts.append(_Draft(int(head[1]), _now(int(head[1]), head[2])))
                line = " " * head.end() + line[head.end() :]
            if line.strip():
                drafts[-1].cells.read(line)
        except ValueError as error:
            raise ProgramError(f"{name}:{number}: {error}") from None
    return drafts


def _now(number: int, text: str | None) -> datetime:
    if text is None:
        return START + timedelta(minutes=number)
    return moment(text).replace(tzinfo=UTC)
