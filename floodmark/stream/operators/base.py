"""The base of streaming operators: a logical node with all properties derived from it.

One class per node, a file each. Its constructor derives and checks all properties once; planning,
EXPLAIN and the run read the same values. There are no defaults: a class that forgets one of the
derivations is a `TypeError` when its module is imported.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any, ClassVar, Generic, Self, TypeVar

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import Labels
from floodmark.stream.properties.bounds import Bounds, ByColumn, T
from floodmark.stream.properties.cleaning import Cleaning
from floodmark.stream.properties.determinism_check import Columns, DeterminismCheck
from floodmark.stream.properties.functional_dependencies import (
    Dependencies,
    Dependency,
    restrict,
)
from floodmark.stream.properties.key_sets import Keys, KeySet, minimal, normalize_keys
from floodmark.stream.properties.lineage import Lineage
from floodmark.stream.properties.monotonicity import Origins
from floodmark.stream.properties.state import OwnTableState, StateTable, arrangement_name
from floodmark.stream.properties.strategy import Strategy
from floodmark.stream.properties.watermark import WatermarkPair, Watermarks

N = TypeVar("N", bound=n.Node, covariant=True)
Key = tuple[str, ...]
WatermarkValues = Mapping[str, Any]
"""Watermark value by column; absent: minus infinity."""

_MOST_UPSERT_KEYS = 128


class StreamOperator(Generic[N]):
    """One operator with the derived properties of its output.

    `inputs` are the operators that it reads. `unique_keys` are alternatives, `upsert_keys` those
    that Flink would know. `marks` are the columns that carry a watermark, alone or in pairs.
    `monotone` gives the object and column with which a column never falls. `cleaning` says for each
    input which of its stored rows can be dropped. `own_table` says what is in the
    table of the object that the plan belongs to. An operator is immutable; `evolve` makes a changed
    copy.
    """

    NODE: ClassVar[type[n.Node]]
    """The node that the class is for."""

    def __init_subclass__(cls, *, family: bool = False) -> None:
        """Check that the class says everything; a `family` is what several operators share."""
        super().__init_subclass__()
        if family:
            return
        asked = (name for name in dir(StreamOperator) if not name.startswith("__"))
        missing = [a for a in asked if getattr(getattr(cls, a), "__isabstractmethod__", False)]
        missing += [] if hasattr(cls, "NODE") else ["NODE"]
        if missing:
            file = f"{cls.__module__.replace('.', '/')}.py"
            raise TypeError(f"{cls.__name__} does not say: {', '.join(missing)} ({file})")

    def __init__(
        self, node: n.Node, identifier: str, inputs: tuple[StreamOperator[n.Node], ...]
    ) -> None:
        assert isinstance(node, self.NODE)
        self.node: N = node  # type: ignore[assignment]
        self.identifier = identifier
        self.inputs = inputs
        self.names = node.names
        self.own_table: OwnTableState | None = None
        holds = restrict(self.derive_dependencies(), frozenset(self.names))
        self.unique_keys: Keys = minimal(holds.reduce(key) for key in self.derive_unique_keys())
        self.dependencies: Dependencies = holds.settle(self.unique_keys, self.names)
        self.upsert_keys: Keys = normalize_keys(self.derive_upsert_keys(), _MOST_UPSERT_KEYS)
        self.marks: Watermarks = self.derive_watermarks()
        self.stream_key: Key = self.key_of(self.node, tuple(i.stream_key for i in inputs))
        self.mode: ChangelogMode = self.derive_mode()
        self.insert_only: bool = self.derive_insert_only()
        self.monotone: Origins = self.derive_monotone()
        self.has_arrangement: bool = self.derive_arrangement()
        self.strategy: Strategy = self.derive_strategy()
        self.cleaning: tuple[Cleaning | None, ...] = self.derive_cleaning()
        self.needs_all_rows: bool = self.derive_needs_all_rows()
        self.uses: int = self.derive_uses()
        self.beside: OwnTableState | None = self.derive_beside()
        self.state: tuple[StateTable, ...] = self.derive_state()
        self._check()

    @staticmethod
    @abstractmethod
    def key_of(node: Any, keys: tuple[Key, ...]) -> Key:
        """Return the stream key of a node's output from the keys of its inputs.

        It is static because it is also needed before an operator exists, to add key columns that a
        projection drops.
        """

    @abstractmethod
    def derive_mode(self) -> ChangelogMode:
        """Return the changelog mode of the output."""

    @abstractmethod
    def derive_insert_only(self) -> bool:
        """Tell whether Flink sees no update in the output."""

    @abstractmethod
    def derive_watermarks(self) -> Watermarks:
        """Return which columns of the output carry a watermark."""

    @abstractmethod
    def derive_dependencies(self) -> Sequence[Dependency]:
        """Return the functional dependencies of the output, except those of keys."""

    @abstractmethod
    def derive_unique_keys(self) -> Sequence[KeySet]:
        """Return sets of columns in which no two rows agree."""

    @abstractmethod
    def derive_upsert_keys(self) -> Sequence[KeySet]:
        """Return the upsert keys that Flink would know."""

    @abstractmethod
    def derive_monotone(self) -> Origins:
        """Return by column the object and its column with which the value never falls."""

    @abstractmethod
    def derive_arrangement(self) -> bool:
        """Tell whether the rows can be read again: from objects and from groups of aggregates."""

    @abstractmethod
    def derive_cleaning(self) -> tuple[Cleaning | None, ...]:
        """Return for each input which of its stored rows can be dropped; None if none can."""

    @abstractmethod
    def derive_strategy(self) -> Strategy:
        """Return how changes are computed: the run decides by it, and EXPLAIN prints it."""

    @abstractmethod
    def derive_needs_all_rows(self) -> bool:
        """Tell whether its inputs have to show all rows, not only those that change.

        An object that drops rows silently cannot be such an input.
        """

    @abstractmethod
    def derive_uses(self) -> int:
        """Return how often the query of its changes reads each input at most.

        Once where they are computed row by row. Four times where touched keys and places, and the
        rows of before and of after, are read apart.
        """

    @abstractmethod
    def derive_beside(self) -> OwnTableState | None:
        """Return the state that an object's table can hold if its rows are the object's."""

    @abstractmethod
    def derive_state(self) -> tuple[StateTable, ...]:
        """Return the state tables of the operator."""

    @property
    @abstractmethod
    def released_by(self) -> tuple[StreamOperator[n.Node], str] | None:
        """Return whose watermark releases rows that are held, and of which column; None: none are.

        They are given out once.
        """

    @abstractmethod
    def other_bound(self, column: str) -> str | None:
        """Return the end of the window whose start a column is, or the other way round.

        So it is for windows of a fixed length: where one bound is passed, the other one is, too.
        """

    @abstractmethod
    def propagate(self, inputs: Sequence[WatermarkValues], now: datetime) -> WatermarkValues:
        """Return the watermarks of the output from those of the inputs; of a scan, of its object.

        `now` is the epoch's time. A column that a join can pad has a value, too: no value of it is
        below.
        """

    @abstractmethod
    def propagate_highest(
        self, inputs: Sequence[WatermarkValues], now: datetime
    ) -> WatermarkValues:
        """Return upper bounds of columns where they are known; arguments as above."""

    @abstractmethod
    def change_bounds(self, inputs: Sequence[Bounds | None]) -> Bounds | None:
        """Return where the values of the changes lie, from those of the inputs' changes.

        None means no changes; `{}` means unknown bounds. The one input of a scan are the bounds of
        its object's changes. Bounds hold for old and new rows alike.
        """

    @abstractmethod
    def input_bounds(self, within: ByColumn[T]) -> Sequence[ByColumn[T]]:
        """Return where the rows of each input lie of which rows within bounds are made.

        In place of bounds, the values of columns may be told in another way.
        """

    @abstractmethod
    def column_origins(self, inputs: Sequence[Lineage]) -> Lineage:
        """Return the origins of each column from those of the inputs' columns."""

    @abstractmethod
    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        """Return the operator's description; `names` are those of the columns that it reads."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Return its name with an article for messages: `the inner join`."""

    @abstractmethod
    def advise(self, labels: Labels) -> Sequence[tuple[str, str]]:
        """Return notes on state and cost: their codes and texts."""

    @abstractmethod
    def check_determinism(
        self, required: Columns, needed: Columns, check: DeterminismCheck
    ) -> None:
        """Hand on which columns of the inputs must be deterministic; report columns that are not.

        Of the output `required` must be: rows are retracted with their values of before. `needed`
        are the columns that operators above read.
        """

    @abstractmethod
    def unstable_expression(self) -> Expr | None:
        """Return an expression that is not deterministic where nothing makes it so, or None."""

    @abstractmethod
    def unsupported_part(self) -> str | None:
        """Return the part of the operator without an incremental form, as text, or None."""

    def arrangements(self, *keys: Key) -> tuple[StateTable, ...]:
        """Return the tables with the rows of the inputs that cannot be read again.

        `keys` are the columns of each input by which its rows are asked for.
        """
        return tuple(
            StateTable(
                arrangement_name(self.node, i, self.identifier), "input arrangement", key, column, i
            )
            for i, (below, key, column) in enumerate(
                zip(self.inputs, keys, self.cleaning_columns, strict=True)
            )
            if not below.has_arrangement
        )

    def arrangement(self, place: int) -> StateTable | None:
        """Return the table with the rows of an input; None where the operator keeps none."""
        return next((table for table in self.state if table.place == place), None)

    @property
    def cleaning_columns(self) -> tuple[str | None, ...]:
        """Return for each input the column by whose watermark rows that are kept of it go."""
        return tuple(None if c is None else c.column for c in self.cleaning)

    @property
    def tables(self) -> tuple[StateTable, ...]:
        """Return the state that is in tables of its own."""
        return tuple(t for t in self.state if not (self.own_table and self.own_table.holds(t)))

    @property
    def input(self) -> StreamOperator[n.Node]:
        """Return the only input."""
        (below,) = self.inputs
        return below

    @property
    def left(self) -> StreamOperator[n.Node]:
        """Return the first of two inputs."""
        return self.inputs[0]

    @property
    def right(self) -> StreamOperator[n.Node]:
        """Return the second of two inputs."""
        return self.inputs[1]

    @property
    def watermarks(self) -> tuple[n.WatermarkColumn, ...]:
        """Return the columns that carry a watermark alone."""
        return self.marks.columns

    @property
    def watermark_pairs(self) -> tuple[WatermarkPair, ...]:
        """Return the pairs of columns that carry a watermark together."""
        return self.marks.pairs

    @property
    def watermark_names(self) -> frozenset[str]:
        """Return the names of the columns that carry a watermark alone."""
        return frozenset(w.column for w in self.marks.columns)

    @property
    def is_row_local(self) -> bool:
        """Tell whether each row is computed from one row of the only input."""
        return self.uses == 1 and len(self.inputs) == 1

    @property
    def is_scanned(self) -> bool:
        """Tell whether rows are those of one object, each computed from one of them."""
        return self.is_row_local and self.inputs[0].is_scanned

    @property
    def append_only(self) -> bool:
        """Tell whether rows never change."""
        return self.mode is ChangelogMode.APPEND_ONLY

    def evolve(self, **changes: Any) -> Self:
        """Return the operator with other values, checked."""
        other = copy(self)
        for name, value in changes.items():
            assert hasattr(other, name), name
            setattr(other, name, value)
        other._check()
        return other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamOperator):
            return NotImplemented
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def _check(self) -> None:
        have = set(self.names)
        assert set(self.stream_key) <= have, (self.stream_key, self.names)
        for keys in (self.unique_keys, self.upsert_keys):
            assert all(key <= have for key in keys), (keys, self.names)
        assert self.watermark_names <= have, (self.watermarks, self.names)
        paired = {c for p in self.watermark_pairs for c in (p.first, p.second)}
        assert paired <= have, (self.watermark_pairs, self.names)
        assert set(self.monotone) <= have, (self.monotone, self.names)
        assert all(r.determinant | r.dependent <= have for r in self.dependencies.rules)
        assert len(self.cleaning) == len(self.inputs), self.cleaning
        values = self.own_table is OwnTableState.VALUES
        assert not (values and self.state), "state is in one place"
