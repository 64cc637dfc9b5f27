"""State of an operator that is in the object's own table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from floodmark.dataflow.state.groups import GroupKeys
from floodmark.dataflow.state.io import StateIO
from floodmark.plan import nodes as n
from floodmark.spark import keyed
from floodmark.spark.types import ident
from floodmark.storage.files.pruning import prune
from floodmark.stream.properties.bounds import EVERYWHERE, Bounds
from floodmark.tables import layout
from floodmark.tables.current import current_at_cut
from floodmark.tables.keyed_rows import EVERY_ROW
from floodmark.tables.tables import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class OwnGroups:
    """The groups of an aggregate as rows of the object itself."""

    io: StateIO
    node: n.Node
    values: bool = True

    def find_groups(self, keys: GroupKeys) -> DataFrame | None:
        """Return the stored groups of keys, and perhaps more; None when there are none.

        They are those of the epoch before.
        """
        home = self.io.obj
        assert home.plan is not None
        names = home.plan.names_above_projections
        held, rows = _rows_before(self.io, names, keys.within, keys)
        if rows is None:
            return None
        renamed = [f"{ident(names[c])} AS {ident(c)}" for c in self.node.names]
        groups = rows.selectExpr(*renamed, *(ident(f.name) for f in layout.own_state(home)))
        return keyed.prune_stored(groups, held, keys.rows, keys.names, self.io.tables.limits)


@dataclass
class OwnRows:
    """The rows of a node, which are those of the object itself."""

    io: StateIO
    node: n.Node

    def rows_before(self, within: Bounds = EVERYWHERE) -> DataFrame | None:
        """Return those of before the epoch, at least of the scopes within bounds."""
        home = self.io.obj
        assert home.plan is not None
        names = home.plan.names_above_projections
        _, rows = _rows_before(self.io, names, within)
        if rows is None:
            return None
        return rows.selectExpr(*(f"{ident(names[c])} AS {ident(c)}" for c in self.node.names))


def _rows_before(
    io: StateIO, names: Mapping[str, str], within: Bounds, keys: GroupKeys | None = None
) -> tuple[int, DataFrame | None]:
    """Return the object's rows before the epoch, at least those within bounds, and their bytes.

    Rows without the `keys` may be left out.
    """
    current = current_at_cut(io.tables.store, io.obj, io.before)
    if current is None:
        return 0, None
    files = prune(current.base, None, {names[c]: ends for c, ends in within.items()})
    narrow = EVERY_ROW
    if keys is not None:
        narrow = keys.narrow(io, layout.current_schema(io.obj), names, rows_of(files))
    return current.bytes_of(files), current.visible_rows(io.tables, files, narrow=narrow)
