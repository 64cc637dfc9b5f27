"""The text form of program tests: parsing, decoding by type, rendering, comparing.

The form is described in `tests/programs/FORMAT.md`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from floodmark.catalog.types import Kind, SqlType
from floodmark.changelog import RowKind

DAY = date(2024, 1, 1)
Values = tuple[str | None, ...]
_KINDS = {kind.value: kind for kind in RowKind}
_EPOCH = re.compile(r"^epoch\s+(\d+)(?:\s+at\s+(\S+))?")
_LABEL = re.compile(r"(?:(out|late|dead)\s+)?([a-z_]\w*)(?:/(\d+))?:(?=\s|$)")
_TOKEN = re.compile(r"'(?:[^']|'')*'|\S+")


class ProgramError(ValueError):
    """A program file is not in the form of FORMAT.md."""


@dataclass(frozen=True, slots=True)
class Line:
    """A changelog row as text; `partition` matters for inputs only."""

    kind: RowKind
    values: Values
    partition: str = "0"


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
    def checked(self) -> frozenset[str]:
        """Return the objects whose changelog is compared in every epoch."""
        labels = {label for epoch in self.epochs for label in epoch.expected}
        return frozenset(label for label in labels if not label.startswith(("late ", "dead ")))


@dataclass
class _Draft:
    """An epoch while its lines are read."""

    number: int
    now: datetime
    cells: dict[str, list[Line]] = field(default_factory=dict)
    dml: list[str] = field(default_factory=list)


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
    return Program(name, title, sql, tuple(_finished(draft, inputs) for draft in drafts))


def input_names(sql: str) -> frozenset[str]:
    """Return the sources and tables that the SQL creates.

    >>> sorted(input_names("CREATE TABLE t (a INT); CREATE SOURCE IF NOT EXISTS s (b INT)"))
    ['s', 't']
    """
    pattern = r"\bCREATE\s+(?:TABLE|SOURCE)\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)"
    return frozenset(re.findall(pattern, sql, flags=re.IGNORECASE))


def _finished(draft: _Draft, inputs: frozenset[str]) -> Epoch:
    given = {k: tuple(v) for k, v in draft.cells.items() if k in inputs}
    others = {k: tuple(v) for k, v in draft.cells.items() if k not in inputs}
    expected = {label.removeprefix("out "): rows for label, rows in others.items()}
    return Epoch(draft.number, draft.now, given, tuple(draft.dml), expected)


def _drafts(lines: list[str], first: int, name: str) -> list[_Draft]:
    drafts: list[_Draft] = []
    columns: list[tuple[int, str]] = []
    for number, raw in enumerate(lines[first:], first + 1):
        line = _without_comment(raw)
        head = _EPOCH.match(line)
        if head is not None:
            drafts.append(_Draft(int(head[1]), _now(int(head[1]), head[2])))
            line, columns = " " * head.end() + line[head.end() :], []
        if not line.strip():
            continue
        try:
            columns = _read(drafts[-1], line, columns)
        except ProgramError as error:
            raise ProgramError(f"{name}:{number}: {error}") from None
    return drafts


def _now(number: int, text: str | None) -> datetime:
    if text is None:
        return datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC) + timedelta(minutes=number)
    return _timestamp(text).replace(tzinfo=UTC)


def _read(draft: _Draft, line: str, columns: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Put the rows of a line into the draft; return the labels in effect for the next line."""
    labels = list(_labels(line))
    if labels and labels[0][2] == "dml":
        draft.dml.append(line[labels[0][1] :].strip())
        return [(labels[0][0], "dml")]
    if not labels and columns and columns[0][1] == "dml":
        draft.dml[-1] += " " + line.strip()
        return columns
    for _, _, label in labels:
        draft.cells.setdefault(label.partition("/")[0], [])
    starts = [(start, label) for start, _, label in labels] or columns
    blank = "".join(
        " " if any(start <= i < end for start, end, _ in labels) else c for i, c in enumerate(line)
    )
    for position, words in _rows(blank):
        if not starts:
            raise ProgramError(f"a row under no label: {' '.join(map(str, words))}")
        left = [label for start, label in starts if start <= position]
        owner = left[-1] if left else starts[0][1]
        target, _, partition = owner.partition("/")
        kind, *values = words
        row = Line(_KINDS[str(kind)], tuple(values), partition or "0")
        draft.cells[target].append(row)
    return starts


def _labels(line: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and name of each label outside quotes."""
    quoted = [m.span() for m in re.finditer(r"'(?:[^']|'')*'", line)]
    for found in _LABEL.finditer(line):
        start = found.start()
        inside = any(a < start < b for a, b in quoted)
        if inside or (start and not line[start - 1].isspace()):
            continue
        label = f"{found[1]} {found[2]}" if found[1] else found[2]
        yield start, found.end(), label + (f"/{found[3]}" if found[3] else "")


def _rows(line: str) -> Iterator[tuple[int, list[str | None]]]:
    """Yield the position and the words of each row of a line, the kind first."""
    current: tuple[int, list[str | None]] | None = None
    for found in _TOKEN.finditer(line):
        word = found[0]
        if word in _KINDS:
            if current is not None:
                yield current
            current = (found.start(), [word])
        elif current is None:
            raise ProgramError(f"a row starts with its kind, not with {word}")
        else:
            current[1].append(_unquoted(word))
    if current is not None:
        yield current


def _unquoted(word: str) -> str | None:
    if word.startswith("'"):
        return word[1:-1].replace("''", "'")
    return None if word == "NULL" else word


def _without_comment(line: str) -> str:
    for found in re.finditer(r"'(?:[^']|'')*'|(?:(?<=\s)|^)--", line):
        if found[0] == "--":
            return line[: found.start()].rstrip()
    return line.rstrip()


def decode(text: str | None, type_: SqlType) -> Any:
    """Return the Python value of a text, in the forms of `floodmark.plan.expressions.Literal`."""
    if text is None:
        return None
    match type_.kind:
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT | Kind.TIME:
            return int(text)
        case Kind.NUMERIC:
            return Decimal(text)
        case Kind.REAL | Kind.DOUBLE:
            return float(text)
        case Kind.BOOLEAN:
            return {"t": True, "true": True, "f": False, "false": False}[text]
        case Kind.DATE:
            return date.fromisoformat(text)
        case Kind.TIMESTAMP:
            return _timestamp(text)
        case Kind.TIMESTAMPTZ:
            return _timestamp(text).replace(tzinfo=UTC)
        case _:
            return text


def _timestamp(text: str) -> datetime:
    full = text if "-" in text else f"{DAY.isoformat()}T{text}"
    return datetime.fromisoformat(full)


def encode(value: Any) -> str:
    """Return a value as a program writes it.

    >>> encode(None), encode("it's"), encode(datetime(2024, 1, 1, 10, 5)), encode(Decimal("1.50"))
    ('NULL', "'it''s'", '10:05:00', '1.5')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "t" if value else "f"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case Decimal():
            return f"{value.normalize():f}"
        case datetime() if value.date() == DAY:
            return value.time().isoformat()
        case datetime():
            return value.replace(tzinfo=None).isoformat()
        case _:
            return str(value)


Shown = tuple[RowKind, tuple[Any, ...]]
"""A changelog row as Python values in column order."""


def decoded(lines: Iterable[Line], types: Sequence[SqlType]) -> list[Shown]:
    """Return the rows of a label as values; raises `ProgramError` where a count is wrong."""
    out: list[Shown] = []
    for line in lines:
        if len(line.values) != len(types):
            raise ProgramError(f"{len(line.values)} values for {len(types)} columns: {line.values}")
        pairs = zip(line.values, types, strict=True)
        out.append((line.kind, tuple(decode(text, type_) for text, type_ in pairs)))
    return out


def render(label: str, rows: Iterable[Shown]) -> str:
    """Return a changelog as a program's lines under a label.

    >>> print(render("v", [(RowKind.INSERT, (5, 6)), (RowKind.DELETE, (None, "a"))]))
    v:  +I 5 6
        -D NULL 'a'
    """
    texts = [" ".join([kind.value, *map(encode, values)]) for kind, values in rows]
    indent = " " * (len(label) + 3)
    return f"{label}:  " + f"\n{indent}".join(texts)


def mismatch(label: str, expected: Sequence[Shown], actual: Sequence[Shown]) -> str | None:
    """Return both changelogs as text where they differ as sets, or None."""
    left = list(expected)
    for row in actual:
        found = next((i for i, other in enumerate(left) if _same(row, other)), None)
        if found is None:
            break
        del left[found]
    else:
        if not left:
            return None
    return f"expected\n{render(label, expected)}\nactual\n{render(label, actual)}"


def _same(a: Shown, b: Shown) -> bool:
    if a[0] is not b[0] or len(a[1]) != len(b[1]):
        return False
    return all(_equal(x, y) for x, y in zip(a[1], b[1], strict=True))


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9)
    return (a is None) == (b is None) and bool(a == b)
