"""Where the keys are found that changes of an operator have, told before any row is read.

They are values of a column in the changes of an object, or in rows of another one that have such
keys. Equal sources of several operators and views are read once. What is told may be more than
the operator's changes have, never less.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floodmark.dataflow.key_sets import (
    ChangedValues,
    FoundValues,
    KeyedRead,
    KeySets,
    Sources,
    select_sources,
)
from floodmark.limits import Limits
from floodmark.plan import nodes as n
from floodmark.stream.operators.aggregate import StreamAggregate
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.filter import StreamFilter
from floodmark.stream.operators.join import StreamJoin
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.operators.project import StreamProject
from floodmark.stream.operators.scan import StreamScan
from floodmark.stream.properties.bounds import ByColumn

_NONE: Sources = frozenset()
_Op = StreamOperator[Any]
Equals = Callable[[str, str], Sources]
"""Returns the changes whose values are compared with those of an object's column anywhere."""


class KeySources:
    """The sources of keys of one plan in one epoch.

    `changes` tells whether the epoch changes an operator's rows.
    """

    def __init__(self, changes: Callable[[_Op], bool], equals: Equals) -> None:
        self._changes = changes
        self._equals = equals
        self._known: dict[tuple[str, str], Sources | None] = {}
        self._wider: dict[tuple[str, str, Sources], Sources] = {}

    def trace_changes(self, op: _Op, column: str) -> Sources | None:
        """Return where a column's values in the changes of an operator are found.

        None where that is not known.
        """
        at = (op.identifier, column)
        if at not in self._known:
            self._known[at] = self._trace(op, column) if self._changes(op) else _NONE
        return self._known[at]

    def _trace(self, op: _Op, column: str) -> Sources | None:
        match op:
            case StreamScan():
                return frozenset({ChangedValues(op.node.object, column)})
            case StreamFilter() | StreamProject() | StreamAggregate():
                (below,) = op.input_bounds({column: True})
                name = next(iter(below), None)
                return None if name is None else self.trace_changes(op.input, name)
            case StreamJoin():
                return self._trace_joined(op, column)
            case _:
                return None

    def _trace_joined(self, op: StreamJoin, column: str) -> Sources | None:
        """Return the values that changes of a side have, and its rows that meet changed ones."""
        place = _unpadded_side(op, column)
        if place is None:
            return None
        side, other = op.inputs[place], op.inputs[1 - place]
        own = self.trace_changes(side, column)
        if own is None or not self._changes(other):
            return own
        met: dict[str, Sources] = {}
        for pair in op.node.equi:
            theirs = self.trace_changes(other, pair[1 - place])
            if theirs is not None:
                met[pair[place]] = theirs
        found = self.trace_rows(side, met, column)
        return None if found is None else own | found

    def trace_rows(self, op: _Op, keys: ByColumn[Sources], column: str) -> Sources | None:
        """Return where a column's values in those rows of an operator are found that have keys."""
        if not keys:
            return None
        if column in keys:
            return keys[column]
        match op:
            case StreamScan() if not op.node.drops_silently:
                return frozenset({FoundValues(self.plan_read(op, keys), column)})
            case StreamFilter() | StreamProject() | StreamAggregate():
                (below,) = op.input_bounds({column: True})
                (near,) = op.input_bounds(keys)
                name = next(iter(below), None)
                return None if name is None else self.trace_rows(op.input, near, name)
            case StreamJoin():
                place = _unpadded_side(op, column)
                if place is None:
                    return None
                sides = self.complete_keys(op, op.input_bounds(keys))
                return self.trace_rows(op.inputs[place], select_sources(sides[place]), column)
            case _:
                return None

    def plan_read(self, scan: StreamScan, keys: Mapping[str, Sources]) -> KeyedRead:
        """Return the read of a table's rows with keys, the same for all who ask with equal keys.

        It has all keys of changes that meet the column in any plan: then others can share it.
        """
        object_ = scan.node.object
        return KeyedRead(
            object_, tuple((c, self._widen(object_, c, keys[c])) for c in sorted(keys))
        )

    def _widen(self, object_: str, column: str, sources: Sources) -> Sources:
        """Return sources with those of others; it is asked often, and counts rows of files."""
        at = (object_, column, sources)
        if at not in self._wider:
            self._wider[at] = sources | self._equals(object_, column)
        return self._wider[at]

    def complete_keys(self, op: _Op, keys: Sequence[KeySets]) -> Sequence[KeySets]:
        """Return the keys of each input, of a join's side also those of rows that meet the other's.

        That is a side without keys, whose rows without a match matter to nobody.
        """
        if not isinstance(op, StreamJoin):
            return keys
        for place in (0, 1):
            known = select_sources(keys[1 - place])
            if keys[place] or not known or not _only_matches(op.node.kind, place):
                continue
            found: dict[str, Sources] = {}
            for pair in op.node.equi:
                values = self.trace_rows(op.inputs[1 - place], known, pair[1 - place])
                if values is not None:
                    found[pair[place]] = values
            return [found if i == place else keys[i] for i in (0, 1)]
        return keys


@dataclass(frozen=True)
class LargeSide:
    """A large side of a join beside a small one that filters; `pairs` have its own column first."""

    place: int
    pairs: tuple[tuple[str, str], ...]

    @property
    def other(self) -> int:
        """Return the place of the small side."""
        return 1 - self.place


def large_side(op: _Op, bytes_of: Callable[[n.Node], int], limits: Limits) -> LargeSide | None:
    """Return the side of a join whose rows matter with a match alone, of which there are few.

    `bytes_of` returns the size of all that a plan scans.
    """
    if not isinstance(op, StreamJoin) or not op.node.equi:
        return None
    for place in (0, 1):
        held, small = bytes_of(op.inputs[place].node), op.inputs[1 - place].node
        if held < limits.reread_bytes or bytes_of(small) * limits.search_share > held:
            continue
        filters = any(isinstance(node, n.Filter) for node in n.walk(small))
        if filters and _only_matches(op.node.kind, place):
            pairs = tuple((pair[place], pair[1 - place]) for pair in op.node.equi)
            return LargeSide(place, pairs)
    return None


def equal_columns(
    plans: Iterable[StreamPlan],
) -> Mapping[tuple[str, str], Sequence[tuple[str, str]]]:
    """Return by object and column with which columns of objects joins compare it, one for each."""
    found = defaultdict[tuple[str, str], list[tuple[str, str]]](list)
    for plan in plans:
        for op in plan.operators.values():
            if isinstance(op, StreamJoin):
                for a, b in op.node.equi:
                    lefts, rights = scan_columns(op.left, a), scan_columns(op.right, b)
                    for left, right in itertools.product(lefts, rights):
                        found[left].append(right)
                        found[right].append(left)
    return found


def scan_columns(op: _Op, column: str) -> set[tuple[str, str]]:
    """Return the columns of objects that a column's values are from."""
    if isinstance(op, StreamScan):
        return {(op.node.object, column)}
    near = zip(op.inputs, op.input_bounds({column: True}), strict=True)
    return {
        origin for below, names in near for name in names for origin in scan_columns(below, name)
    }


def _unpadded_side(op: StreamJoin, column: str) -> int | None:
    """Return the place of the side that has a column, if a join does not pad it."""
    kind, place = op.node.kind, 0 if column in op.left.names else 1
    return None if (kind.pads_right if place else kind.pads_left) else place


def _only_matches(kind: n.JoinKind, place: int) -> bool:
    """Tell whether rows of a side matter only where they meet rows of the other one."""
    if place:
        return not kind.pads_left
    return kind in (n.JoinKind.INNER, n.JoinKind.RIGHT, n.JoinKind.SEMI)
