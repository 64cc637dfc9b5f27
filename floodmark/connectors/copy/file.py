"""The files of COPY: their options, and what is wrong with one, by line and column."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from floodmark.catalog.option_table import OptionPlace, nearest, specs_of
from floodmark.errors import DataError, Span
from floodmark.limits import Limits
from floodmark.scalar.casts import cast_value
from floodmark.scalar.functions import RowError
from floodmark.scalar.types import UNKNOWN, SqlType
from floodmark.sql import statements as s

_SPECS = specs_of(OptionPlace.COPY, OptionPlace.COPY_CSV)
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
    limits: Limits = field(kw_only=True)

    def wrong(self, line: int, message: str, hint: str | None = None) -> NoReturn:
        """Raise E0425: a row that cannot be taken in; nothing of the file is."""
        raise DataError(
            "E0425",
            f"{self.path}:{line}: {message}",
            span=self.span,
            hint=hint or "correct the line; nothing of the file was taken in",
        )


def copy_file(
    path: str, options: Iterable[s.Option], span: Span | None, limits: Limits
) -> CopyFile:
    """Return a file with its options; the format follows from its name unless it is given.

    Raises E0426 for an option that says nothing here, E0424 for what is there and is no file.
    """
    given = {o.name.lower(): o for o in options}
    place = Path(path).expanduser()
    if not path.strip():
        raise _open_error(place, "the path is empty", span)
    format_ = _ENDINGS.get(place.suffix.lower(), "csv")
    if "format" in given:
        format_ = _read(given["format"])
    known = specs_of(OptionPlace.COPY, *([OptionPlace.COPY_CSV] if format_ == "csv" else []))
    for name, option in given.items():
        if name not in known:
            raise DataError(
                "E0426",
                f"COPY: no option {name!r} for {format_}",
                span=option.span,
                hint=nearest(name, known),
            )
    values = {name: _read(option) for name, option in given.items()}
    delimiter = values.get("delimiter", "\t" if place.suffix.lower() == ".tsv" else ",")
    # A device or a pipe has no end, and is not to be replaced.
    if os.path.exists(place) and not os.path.isfile(place):
        raise _open_error(place, "it is no regular file", span)
    csv = values.get("header", False), delimiter, values.get("null", "")
    return CopyFile(place, format_, *csv, span, limits=limits)


def _read(option: s.Option) -> Any:
    return _SPECS[option.name.lower()].check(option, "E0426", kind=DataError)


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
