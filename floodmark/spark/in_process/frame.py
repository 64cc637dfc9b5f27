"""Rows on their way through a query: columns that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from floodmark.cached import cached_property

if TYPE_CHECKING:
    import pyarrow as pa

    Values: TypeAlias = pa.Array | pa.Scalar
    """As many values as a frame has rows, or one that stands for all of them."""


class UnsupportedQuery(Exception):
    """What is not computed here; Spark does it."""


class LargeQuery(UnsupportedQuery):
    """More rows than are computed here; the next query of its kind may have fewer."""


class LazyColumn:
    """A column: its values are computed once, and only if somebody asks for them.

    `qualifier` is the alias of the relation that it comes from. A `hidden` one is not among those
    that `*` means.
    """

    def __init__(
        self,
        name: str,
        compute: Callable[..., pa.Array],
        *given: Any,
        qualifier: str | None = None,
        hidden: bool = False,
    ) -> None:
        self.name = name
        self.qualifier = qualifier
        self.hidden = hidden
        self._compute = compute
        self._given = given

    @cached_property
    def values(self) -> pa.Array:
        """Return the values, as many as the frame has rows."""
        return self._compute(*self._given)

    def rename(self, name: str, qualifier: str | None) -> LazyColumn:
        """Return the same values under another name."""
        return LazyColumn(name, lambda: self.values, qualifier=qualifier)

    def take(self, places: pa.Array) -> LazyColumn:
        """Return the values at some places; NULL where a place is NULL."""
        return LazyColumn(
            self.name, self._take, places, qualifier=self.qualifier, hidden=self.hidden
        )

    def _take(self, places: pa.Array) -> pa.Array:
        return self.values.take(places)


class LazyFrame:
    """Some rows; names need not be different, as in Spark."""

    def __init__(self, rows: int, columns: Sequence[LazyColumn]) -> None:
        self.rows = rows
        self.columns = columns
        self._remembered: dict[Hashable, Any] = {}

    @property
    def visible(self) -> list[LazyColumn]:
        """Return the columns that `*` means."""
        return [c for c in self.columns if not c.hidden]

    def find(self, path: Sequence[str]) -> tuple[LazyColumn, Sequence[str]] | None:
        """Return the column that a dotted name means, and the fields inside of it that follow.

        None where there is none; `UnsupportedQuery` where there are several.
        """
        for qualifiers in (1, 0):
            if len(path) <= qualifiers:
                continue
            named = [
                c
                for c in self.columns
                if c.name.lower() == path[qualifiers].lower()
                and ((c.qualifier or "").lower() == path[0].lower() if qualifiers else not c.hidden)
            ]
            if len(named) > 1:
                raise UnsupportedQuery(f"several columns are named {path}")
            if named:
                return named[0], path[qualifiers + 1 :]
        return None

    def take(self, places: pa.Array) -> LazyFrame:
        """Return the rows at some places, none of which is NULL."""
        return LazyFrame(len(places), [c.take(places) for c in self.columns])

    def remember(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return what is computed of the rows, and keep it for the next who asks for the key."""
        if key not in self._remembered:
            self._remembered[key] = compute()
        return self._remembered[key]

    def bind(self, name: str, values: pa.Array) -> LazyFrame:
        """Return the rows with one more column, which hides others of its name."""
        others = [c for c in self.columns if c.name.lower() != name.lower()]
        return LazyFrame(self.rows, [*others, LazyColumn(name, lambda: values)])
