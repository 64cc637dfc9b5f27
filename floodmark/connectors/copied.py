"""The files of COPY: their options, and what is wrong with one, by line and column."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from floodmark.catalog.option_table import OptionPlace, nearest, specs_of
from floodmark.errors import DataError, Span
from floodmark.limits import LIMITS, Limits
from floodmark.scalar.casts import cast_value, truth_of
from floodmark.scalar.functions import RowError
from floodmark.scalar.types import UNKNOWN, SqlType
from floodmark.sql import statements as s

FORMATS = ("csv", "json", "parquet")
_ENDINGS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json",
            ".parquet": "parquet", ".pq": "parquet", ".tsv": "csv", ".txt": "csv"}  # fmt: skip


@dataclass(frozen=True)
class CopyFile:
    """A file and how it is written: `null` is the text that stands for NULL in CSV."""

    path: Path
    format: str
    header: bool = False
    delimiter: str = ","
    null: str = ""
    span: Span | None = None
    limits: Limits = LIMITS

    def wrong(self, line: int, message: str, hint: str | None = None) -> NoReturn:
        """Raise E0425: a row that cannot be taken in; nothing of the file is."""
        raise DataError(
            "E0425",
            f"{self.path}:{line}: {message}",
            span=self.span,
            hint=hint or "correct the line; nothing of the file was taken in",
        )


def copy_file(path: str, options: Iterable[s.Option], span: Span | None) -> CopyFile:
    """Return a file with its options; the format follows from its name unless it is given.

    Raises E0426 for an option that says nothing here, E0424 for what is there and is no file.
    """
    given = {o.name.lower(): o for o in options}
    place = Path(path).expanduser()
    if not path.strip():
        raise _open_error(place, "the path is empty", span)
    format_ = _ENDINGS.get(place.suffix.lower(), "csv")
    if "format" in given:
        format_ = given["format"].value.lower()
        if format_ not in FORMATS:
            raise _wrong_option(
                given["format"], f"no format {format_!r}", nearest(format_, FORMATS)
            )
    known = specs_of(OptionPlace.COPY, *([OptionPlace.COPY_CSV] if format_ == "csv" else []))
    for name, option in given.items():
        if name not in known:
            raise _wrong_option(option, f"no option {name!r} for {format_}", nearest(name, known))
    delimiter = given["delimiter"].value if "delimiter" in given else None
    if delimiter is None:
        delimiter = "\t" if place.suffix.lower() == ".tsv" else ","
    if len(delimiter) != 1 or delimiter in '"\r\n':
        hint = "one character other than the quote and the line's end"
        raise _wrong_option(given["delimiter"], "no such delimiter", hint)
    # A device or a pipe has no end, and is not to be replaced.
    if os.path.exists(place) and not os.path.isfile(place):
        raise _open_error(place, "it is no regular file", span)
    null = given["null"].value if "null" in given else ""
    return CopyFile(place, format_, _truth(given.get("header")), delimiter, null, span)


def _truth(option: s.Option | None) -> bool:
    if option is None:
        return False
    if (found := truth_of(option.value)) is None:
        what = f"header = {option.value!r} is neither true nor false"
        raise _wrong_option(option, what, "true or false")
    return found


def _wrong_option(option: s.Option, message: str, hint: str) -> DataError:
    return DataError("E0426", f"COPY: {message}", span=option.span, hint=hint)


def out_of_reach(path: Path, error: OSError, span: Span | None) -> DataError:
    """Return E0424: the file cannot be opened."""
    return _open_error(path, str(error.strerror or error), span)


def _open_error(path: Path, why: str, span: Span | None) -> DataError:
    return DataError(
        "E0424",
        f"COPY cannot open {path}: {why}",
        span=span,
        hint="the path is one of the machine that runs the statement, from the project's folder",
    )


def check_names(
    file: CopyFile,
    names: Sequence[str] | Mapping[str, Any],
    types: Mapping[str, SqlType],
    line: int,
) -> None:
    """Raise E0425 for a name that is no column to write, or is there twice."""
    for name in names:
        if name not in types:
            known = ", ".join(types)
            file.wrong(line, f'the table has no column "{name}" to write', f"it has {known}")
    if len(set(names)) < len(names):
        file.wrong(line, "a column is named twice")


def parse_value(file: CopyFile, line: int, name: str, text: str, type_: SqlType) -> Any:
    """Return the value that a text stands for; E0425 where it stands for none."""
    try:
        return cast_value(text, UNKNOWN, type_)
    except RowError:
        shown = text if len(text) <= 40 else text[:37] + "..."
        file.wrong(line, f"column \"{name}\": '{shown}' is not a value of type {type_}")
