"""Delta tables outside of a warehouse, each at a path of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from floodmark.scalar.types import Schema
from floodmark.storage.delta.log import LOG
from floodmark.storage.delta.store import DeltaStore
from floodmark.storage.delta.types import sql_schema

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

_WRITABLE = frozenset({"appendOnly", "timestampNtz"})
"""Features of tables that change nothing of how rows are added and removed here."""
_OLD_WRITER = 2
"""The version of the protocol up to which a table needs no more than these."""
_FEED = "delta.enableChangeDataFeed"


class DeltaElsewhere(DeltaStore):
    """A store of one table, whatever it is called: its folder is the root."""

    def key(self, table: str, *names: str) -> str:
        """See `TableFiles.key`."""
        return "/".join(names)


MARK = LOG
"""What the folder of a table holds."""


def is_table(folder: Path) -> bool:
    """Tell whether a folder holds a table."""
    return (folder / MARK).is_dir()


class ForeignTable:
    """A table of other programs, to be read at one version; OSError where it cannot be read."""

    def __init__(self, place: str, version: int | None = None) -> None:
        with _unreadable():
            self._table = DeltaTable(place, version=version)

    @property
    def version(self) -> int:
        """Return the version that is read."""
        return int(self._table.version())

    @property
    def schema(self) -> Schema:
        """Return the columns with their types in SQL."""
        with _unreadable():
            return sql_schema(json.loads(self._table.schema().to_json()))

    @property
    def dataset(self) -> Dataset:
        """Return the rows."""
        with _unreadable():
            return self._table.to_pyarrow_dataset()


@contextmanager
def _unreadable() -> Iterator[None]:
    try:
        yield
    except DeltaError as error:
        raise OSError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Traits:
    """What of a table says whether rows can be written into it."""

    features: tuple[str, ...]
    properties: Mapping[str, str]

    @property
    def strange(self) -> tuple[str, ...]:
        """Return the features that a writer has to know and this one does not."""
        return tuple(sorted(set(self.features) - _WRITABLE))

    @property
    def has_feed(self) -> bool:
        """Tell whether writers have to write a change data feed."""
        return self.properties.get(_FEED, "").lower() == "true"

    @property
    def only_adds(self) -> bool:
        """Tell whether rows may be added alone."""
        return self.properties.get("delta.appendOnly", "").lower() == "true"


def traits_of(folder: Path) -> Traits:
    """Return the features and properties of a table that its writers have to respect."""
    try:
        table = DeltaTable(str(folder))
        protocol, metadata = table.protocol(), table.metadata()
    except DeltaError as error:
        return Traits((str(error).split("\n")[0],), {})
    features = [str(f) for f in protocol.writer_features or ()]
    properties = dict(metadata.configuration)
    if not features and protocol.min_writer_version > _OLD_WRITER:
        # Older protocols name no features; what a table uses is in its properties.
        features = [key for key in properties if key.startswith("delta.constraints.")]
    if _FEED in properties:
        features = [f for f in features if f != "changeDataFeed"]
    return Traits(tuple(features), properties)
