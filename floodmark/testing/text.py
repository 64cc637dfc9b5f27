"""Changelogs as text: rows under labels, their values by type, and what two of them differ in.

`v:  -U 1 10  +U 1 15` is the label of an object and rows that start with their kind. The form is
described in `docs/testing.md`.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from floodmark.changelog import RowKind
from floodmark.scalar.types import Kind, SqlType

DAY = date(2024, 1, 1)
"""The day of a time that is written without one."""
START = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC)
CellTexts = tuple[str | None, ...]
TextRow = tuple[RowKind, tuple[Any, ...]]
"""A changelog row as Python values in column order."""

_KINDS = {kind.value: kind for kind in RowKind}
_LABEL = re.compile(r"(?:(out|late|dead)\s+)?([a-z_][\w.]*)(?:/(\d+))?:(?=\s|$)")
_TOKEN = re.compile(r"'(?:[^']|'')*'|\S+")


class ChangelogTextError(ValueError):
    """A text is not a changelog, or its values do not fit the columns."""


@dataclass(frozen=True, slots=True)
class Line:
    """A changelog row as text; `partition` matters for inputs only."""

    kind: RowKind
    values: CellTexts
    partition: str = "0"


@dataclass
class Cells:
    """The rows under each label of a text, and its DML statements, while its lines are read."""

    rows: dict[str, list[Line]] = field(default_factory=dict)
    dml: list[str] = field(default_factory=list)
    _columns: list[tuple[int, str]] = field(default_factory=list)

    def read(self, line: str) -> None:
        """Take in a line; its labels hold for the next one too.

        A row belongs to the label before it, on a line without labels to the nearest one above.
        """
        labels = list(_labels(line))
        if labels and labels[0][2] == "dml":
            self.dml.append(line[labels[0][1] :].strip())
            self._columns = [(labels[0][0], "dml")]
            return
        if not labels and self._columns and self._columns[0][1] == "dml":
            self.dml[-1] += " " + line.strip()
            return
        for _, _, label in labels:
            self.rows.setdefault(label.partition("/")[0], [])
        if labels:
            self._columns = [(start, label) for start, _, label in labels]
        covered = [(start, end) for start, end, _ in labels]
        blank = "".join(
            " " if any(a <= i < b for a, b in covered) else c for i, c in enumerate(line)
        )
        for position, kind, values in _rows(blank):
            target, _, partition = self._owner(position, kind, values).partition("/")
            self.rows[target].append(Line(kind, values, partition or "0"))

    def _owner(self, position: int, kind: RowKind, values: CellTexts) -> str:
        if not self._columns:
            raise ChangelogTextError(f"a row under no label: {kind.value} {_join(values)}")
        left = [label for start, label in self._columns if start <= position]
        return left[-1] if left else self._columns[0][1]


def cells_of(text: str) -> Cells:
    """Return the rows of a text; `--` after a space starts a comment.

    >>> rows = cells_of("s: +I 1 'it''s'  -D 2 NULL v:").rows
    >>> [line.values for line in rows["s"]], rows["v"]
    ([('1', "it's"), ('2', None)], [])
    """
    cells = Cells()
    for line in text.splitlines():
        if bare := without_comment(line):
            cells.read(bare)
    return cells


def _labels(line: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and name of each label outside quotes."""
    quoted = [m.span() for m in re.finditer(r"'(?:[^']|'')*'", line)]
    for match in _LABEL.finditer(line):
        start = match.start()
        inside = any(a < start < b for a, b in quoted)
        if inside or (start and not line[start - 1].isspace()):
            continue
        label = f"{match[1]} {match[2]}" if match[1] else match[2]
        yield start, match.end(), label + (f"/{match[3]}" if match[3] else "")


def _rows(line: str) -> Iterator[tuple[int, RowKind, CellTexts]]:
    """Yield the position, the kind and the values of each row of a line."""
    current: tuple[int, RowKind, list[str | None]] | None = None
    for match in _TOKEN.finditer(line):
        word = match[0]
        if word in _KINDS:
            if current is not None:
                yield current[0], current[1], tuple(current[2])
            current = (match.start(), _KINDS[word], [])
        elif current is None:
            raise ChangelogTextError(f"a row starts with its kind, not with {word}")
        else:
            current[2].append(_unquote(word))
    if current is not None:
        yield current[0], current[1], tuple(current[2])


def _unquote(word: str) -> str | None:
    if word.startswith("'"):
        return word[1:-1].replace("''", "'")
    return None if word == "NULL" else word


def without_comment(line: str) -> str:
    """Return a line up to its comment, without blanks at the end."""
    for match in re.finditer(r"'(?:[^']|'')*'|(?:(?<=\s)|^)--", line):
        if match[0] == "--":
            return line[: match.start()].rstrip()
    return line.rstrip()


def decode(text: str | None, type_: SqlType) -> Any:
    """Return the Python value of a text, in the forms of `plan.expr.expressions.Literal`."""
    if text is None:
        return None
    try:
        return _parse(text, type_)
    except (ArithmeticError, KeyError, ValueError):
        raise ChangelogTextError(f"{text!r} is not of type {type_}") from None


def _parse(text: str, type_: SqlType) -> Any:
    match type_.kind:
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT | Kind.TIME:
            return int(text)
        case Kind.NUMERIC:
            return Decimal(text)
        case Kind.REAL:
            return struct.unpack("f", struct.pack("f", float(text)))[0]
        case Kind.DOUBLE:
            return float(text)
        case Kind.BOOLEAN:
            return {"t": True, "true": True, "f": False, "false": False}[text]
        case Kind.DATE:
            return date.fromisoformat(text)
        case Kind.TIMESTAMP:
            return moment(text)
        case Kind.TIMESTAMPTZ:
            return moment(text).replace(tzinfo=UTC)
        case _:
            return text


def moment(text: str) -> datetime:
    """Return a timestamp without a zone; a time alone is of 2024-01-01."""
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


def decode_rows(lines: Iterable[Line], types: Sequence[SqlType]) -> list[TextRow]:
    """Return the rows of a label as values; raises `ChangelogTextError` where a count is wrong."""
    out: list[TextRow] = []
    for line in lines:
        if len(line.values) != len(types):
            raise ChangelogTextError(
                f"{len(line.values)} values for {len(types)} columns: {_join(line.values)}"
            )
        pairs = zip(line.values, types, strict=True)
        out.append((line.kind, tuple(decode(text, type_) for text, type_ in pairs)))
    return out


def _join(values: CellTexts) -> str:
    return " ".join(map(encode, values))


def render(label: str, rows: Iterable[TextRow]) -> str:
    """Return a changelog as a program's lines under a label.

    >>> print(render("v", [(RowKind.INSERT, (5, 6)), (RowKind.DELETE, (None, "a"))]))
    v:  +I 5 6
        -D NULL 'a'
    """
    texts = [" ".join([kind.value, *map(encode, values)]) for kind, values in rows]
    indent = "\n" + " " * (len(label) + 3)
    return f"{label}:  {indent.join(texts)}".rstrip()


def mismatch(label: str, expected: Sequence[TextRow], actual: Sequence[TextRow]) -> str | None:
    """Return as text what is missing, what was not expected, and all there is; None for equal sets.

    >>> print(mismatch("v", [(RowKind.INSERT, (1,))], [(RowKind.INSERT, (2,))]))
    missing
    v:  +I 1
    not expected
    v:  +I 2
    in all
    v:  +I 2
    """
    missing, surplus = list(expected), list[TextRow]()
    for row in actual:
        number = next((i for i, other in enumerate(missing) if _same(row, other)), None)
        if number is None:
            surplus.append(row)
        else:
            del missing[number]
    if not missing and not surplus:
        return None
    parts = [("missing", missing), ("not expected", surplus)]
    shown = [f"{head}\n{render(label, rows)}" for head, rows in parts if rows]
    return "\n".join([*shown, f"in all\n{render(label, actual)}"])


def _same(a: TextRow, b: TextRow) -> bool:
    if a[0] is not b[0] or len(a[1]) != len(b[1]):
        return False
    return all(_equal(x, y) for x, y in zip(a[1], b[1], strict=True))


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9)
    return (a is None) == (b is None) and bool(a == b)
