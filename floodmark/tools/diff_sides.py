"""What `floodmark diff` compares: a relation at an epoch, or a Delta table from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from floodmark.catalog.catalog import unknown_object
from floodmark.catalog.objects import Relation
from floodmark.changelog import is_hidden
from floodmark.errors import BindError
from floodmark.scalar.types import Schema
from floodmark.sql.parse import parse_statement
from floodmark.sql.statements import Select
from floodmark.storage.delta.elsewhere import MARK, ForeignTable, is_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.api import Floodmark


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its visible columns and how to get their rows.

    `key` are the visible columns that tell its rows apart, () where hidden ones do, None where
    nobody knows. `epoch` is set for relations, `version` for Delta tables from elsewhere.
    """

    name: str
    columns: Schema
    key: tuple[str, ...] | None
    frame: Callable[[], DataFrame] = field(repr=False, compare=False)
    epoch: int | None = None
    version: int | None = None


def side_of(connection: Floodmark, text: str, at_epoch: int | None = None) -> Side:
    """Return the rows of `x`, `x@epoch` or a path; the number of a path is a version.

    Raises E0770 for an epoch that is no number and a folder that holds no Delta table, E0201 for
    an unknown name, E0412 for an epoch that is not kept.
    """
    name, at = _split_epoch(text)
    if "/" in name or is_table(Path(name)):
        return _external_side(connection, name, at)
    return _relation(connection, name, at_epoch if at is None else at)


def _split_epoch(text: str) -> tuple[str, int | None]:
    name, sign, number = text.rpartition("@")
    if not sign or "/" in number:
        return text, None
    if not name or not number.isdecimal():
        raise BindError(
            "E0770",
            f'"{number}" in {text} is not an epoch',
            hint="write the number of a sealed epoch: totals@7",
        )
    return name, int(number)


def _relation(connection: Floodmark, name: str, epoch: int | None) -> Side:
    reader = connection.reader(epoch)
    known = {*reader.relations, *reader.pipeline.relations}
    plain = name.removeprefix("public.")
    key = next((n for n in (name, plain, plain.lower()) if n in known), None)
    if key is None:
        raise unknown_object(name, known, None)
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in key.split("."))
    statement = parse_statement(f"SELECT * FROM {quoted}")
    assert isinstance(statement, Select)
    node = reader.plan(statement.query, statement.span)
    relation = reader.pipeline.relations.get(key) or reader.relations[key]
    return Side(key, node.schema, _key(relation), lambda: reader.frame(node), reader.cut.epoch)


def _key(relation: Relation) -> tuple[str, ...]:
    key = relation.primary_key or relation.stream_key
    return () if any(is_hidden(column) for column in key) else key


def _external_side(connection: Floodmark, path: str, version: int | None) -> Side:
    """Return a Delta table by its path; hidden columns, as Floodmark's own tables have, are out."""
    place = path if "://" in path else str(Path(path).resolve())
    try:
        table = ForeignTable(place, version)
        columns = table.schema
    except OSError as error:
        raise BindError(
            "E0770",
            f"{path} cannot be read as a Delta table: {error}",
            hint=f"give the folder that holds {MARK}, and a version that is there",
        ) from None
    shown = tuple(f for f in columns if not is_hidden(f.name))
    names, at = [f.name for f in shown], table.version

    def frame() -> DataFrame:
        read = connection.sessions().main.read.format("delta").option("versionAsOf", at)
        return read.load(place).select(*names)

    return Side(path, shown, None, frame, version=at)
