"""Reports of fields of files without a column, and of declared columns that files lack."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floodmark.catalog.option_table import nearest
from floodmark.connectors.base import Split
from floodmark.errors import DataError
from floodmark.scalar.types import Schema

LACKS, UNUSED = "lacks", "unused"
_MOST = 20
"""Names of unused fields that are kept of a file."""
NAMES_SHOWN = 8
"""Names that say what a file has instead of the declared columns."""
NONE_OF = "none of the declared columns, it has:"


@dataclass(frozen=True, slots=True)
class Fields:
    """The declared columns that files lack, and the fields of theirs that nothing takes."""

    lacks: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    @classmethod
    def compare(cls, schema: Schema, names: Iterable[str]) -> Fields:
        """Compare a schema with the fields of a file, whatever their upper and lower case.

        >>> from floodmark.scalar.types import INT, Field
        >>> Fields.compare((Field("a", INT), Field("b", INT)), ["A", "x"])
        Fields(lacks=('b',), unused=('x',))
        """
        present = {name.lower(): name for name in names}
        declared = {column.name.lower() for column in schema}
        lacks = tuple(c.name for c in schema if c.name.lower() not in present)
        unused = sorted(name for lower, name in present.items() if lower not in declared)
        return cls(lacks, tuple(unused[:_MOST]))

    def payload_for(self, needed: Schema) -> dict[str, list[str]]:
        """Return the payload of which columns alone that are `needed` count as lacking."""
        lacks = tuple(c.name for c in needed if c.name in self.lacks)
        return Fields(lacks, self.unused).as_payload()

    def as_payload(self) -> dict[str, list[str]]:
        """Return the entries of a split's payload for these names; none where all fits."""
        note = {LACKS: list(self.lacks), UNUSED: list(self.unused)}
        return {name: names for name, names in note.items() if names}


def of_another_kind(schema: Schema, names: Sequence[str]) -> str | None:
    """Say that a file has none of the declared columns; None where it has some.

    >>> from floodmark.scalar.types import INT, Field
    >>> of_another_kind((Field("a", INT),), ["x", "y"])
    'none of the declared columns, it has: x, y'
    >>> of_another_kind((Field("a", INT),), ["A", "y"])
    """
    if len(Fields.compare(schema, names).lacks) < len(schema) or not schema:
        return None
    shown = ", ".join(names[:NAMES_SHOWN]) or "nothing"
    return f"{NONE_OF} {shown[:200]}"


def fields_of(splits: Sequence[Split]) -> Fields:
    """Return the columns that all files of splits lack, and names in any that no column takes.

    A file without rows does not count.
    """
    read = [s.payload for s in splits if "bad" not in s.payload and s.start < s.end]
    unused = {name for payload in read for name in payload.get(UNUSED, ())}
    if not read:
        return Fields()
    lacks = set.intersection(*(set(payload.get(LACKS, ())) for payload in read))
    return Fields(tuple(sorted(lacks)), tuple(sorted(unused)[:_MOST]))


def describe_fields(fields: Fields, columns: Collection[str], rows: int) -> str | None:
    """Say in a sentence what is missing and what is not taken; None where there is nothing.

    >>> describe_fields(Fields(("ts",), ("time",)), ["id", "ts", "v"], 1200)
    'ts is in none of 1,200 rows; the rows have id, time, v'
    >>> describe_fields(Fields(("ts", "v"), ()), ["id", "ts", "v"], 1)
    'ts, v are not in the only row; it has id'
    >>> describe_fields(Fields((), ("time",)), ["id"], 3)
    'no column takes time'
    """
    if not rows:
        return None
    if fields.lacks:
        names = ", ".join(fields.lacks)
        there = sorted({c for c in columns if c not in fields.lacks} | set(fields.unused))
        verb = "is" if len(fields.lacks) == 1 else "are"
        have = f"{'it has' if rows == 1 else 'the rows have'} {', '.join(there) or 'nothing else'}"
        where = "not in the only row" if rows == 1 else f"in none of {rows:,} rows"
        return f"{names} {verb} {where}; {have}"
    return f"no column takes {', '.join(fields.unused)}" if fields.unused else None


def check_complete(extra: Mapping[str, Any], file: str, where: str = "") -> None:
    """Raise E0497 for a file that lacks declared columns, where that is wanted."""
    lacks = extra.get(LACKS, ())
    if not lacks:
        return
    raise DataError(
        "E0497",
        f"{file} has no {', '.join(lacks)}{where}",
        hint=nearest(lacks[0], extra[UNUSED])
        if extra.get(UNUSED)
        else "correct the file or the definition; on_missing = 'null' takes NULL instead",
    )
