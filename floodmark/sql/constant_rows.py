"""Long lists of constant rows in VALUES: one token, cut into cells without trees for them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from floodmark.limits import LIMITS

_STRING = r"'[^']*(?:''[^']*)*'"
# No brackets, names in quotes or comments: what has them is an expression.
_CELL = rf"(?=\s*[^\s,)])(?:[^'(),;\"$\[\]/eE-]|/(?!\*)|-(?!-)|[eE](?!')|{_STRING})+"
_ROW = re.compile(rf"\(({_CELL}(?:,{_CELL})*)\)")
_COMMA = re.compile(r"\s*,\s*")
_CUT = re.compile(_CELL)


def end_of_rows(text: str, start: int) -> int | None:
    """Return where a long list of constant rows ends; None where there is none."""
    number, end, at = 0, start, start
    while (row := _ROW.match(text, at)) is not None:
        number, end = number + 1, row.end()
        comma = _COMMA.match(text, end)
        if comma is None:
            return end if number >= LIMITS.constant_rows else None
        at = comma.end()
    return None


def rows_of(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of such a list: where each one's cells begin, and their texts.

    >>> [cells for _, cells in rows_of("(1, 'a,b'), (-2,NULL)")]
    [['1', "'a,b'"], ['-2', 'NULL']]
    """
    for row in _ROW.finditer(text):
        yield row.start(1), [cell.strip() for cell in _CUT.findall(row.group(1))]


def cell_at(text: str, start: int, number: int) -> tuple[int, int]:
    """Return where a cell begins and ends, of the row whose cells begin at `start`.

    >>> cell_at("(1, 'a,b',  20)", 1, 2)
    (12, 14)
    """
    cells = _CUT.finditer(text, start)
    cell = next(cell for i, cell in enumerate(cells) if i == number)
    blanks = len(cell.group()) - len(cell.group().lstrip())
    return cell.start() + blanks, cell.start() + len(cell.group().rstrip())
