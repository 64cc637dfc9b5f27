"""What is known of one node's output, checked when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.stream.properties import (
    changelog_mode,
    functional_dependencies,
    monotonicity,
    state,
    stream_key,
    unique_keys,
    upsert_keys,
    watermark,
)
from floodmark.stream.properties.functional_dependencies import NOTHING, Dependencies
from floodmark.stream.properties.key_sets import Keys
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.watermark import WatermarkPair, Watermarks


@dataclass(frozen=True, slots=True)
class Properties:
    """What is known of one node's output; `names` are its columns.

    `unique_keys` are alternatives, `upsert_keys` those that Flink would know. `watermark_pairs`
    carry a watermark together. `monotone` gives the object and column with which a column never
    falls. `own_table` says that what the node would store is in the table of the object that the
    plan belongs to.
    """

    identifier: str
    names: tuple[str, ...]
    stream_key: tuple[str, ...]
    mode: ChangelogMode
    watermarks: tuple[n.WatermarkColumn, ...]
    state: tuple[StateTable, ...]
    unique_keys: Keys = ()
    upsert_keys: Keys = ()
    dependencies: Dependencies = NOTHING
    watermark_pairs: tuple[WatermarkPair, ...] = ()
    monotone: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    own_table: bool = False

    def __post_init__(self) -> None:
        have = set(self.names)
        assert set(self.stream_key) <= have, (self.stream_key, self.names)
        for keys in (self.unique_keys, self.upsert_keys):
            assert all(key <= have for key in keys), (keys, self.names)
        assert {w.column for w in self.watermarks} <= have, (self.watermarks, self.names)
        paired = {c for p in self.watermark_pairs for c in (p.first, p.second)}
        assert paired <= have, (self.watermark_pairs, self.names)
        assert set(self.monotone) <= have, (self.monotone, self.names)
        assert all(r.given | r.settled <= have for r in self.dependencies.rules)
        assert not (self.own_table and self.state), "state is in one place"

    @property
    def append_only(self) -> bool:
        """Tell whether rows never change."""
        return self.mode is ChangelogMode.APPEND_ONLY


def derive(node: n.Node, identifier: str, inputs: tuple[Properties, ...]) -> Properties:
    """Return the properties of a node's output from those of its inputs, in fixed order."""
    modes = tuple(i.mode for i in inputs)
    holds = functional_dependencies.derive(node, tuple(i.dependencies for i in inputs))
    keys = unique_keys.derive(node, tuple(i.unique_keys for i in inputs), holds)
    known = tuple(Watermarks(i.watermarks, i.watermark_pairs) for i in inputs)
    marks = watermark.derive(node, known)
    return Properties(
        identifier=identifier,
        names=node.names,
        stream_key=stream_key.derive(node, tuple(i.stream_key for i in inputs)),
        mode=changelog_mode.derive(node, modes),
        watermarks=marks.columns,
        state=state.derive(
            node,
            identifier,
            modes,
            inputs[0].stream_key if inputs else (),
            tuple(i.watermarks for i in inputs),
        ),
        unique_keys=keys,
        upsert_keys=upsert_keys.derive(node, tuple(i.upsert_keys for i in inputs)),
        dependencies=holds.settle(keys, node.names),
        watermark_pairs=marks.pairs,
        monotone=monotonicity.derive(node, tuple(i.monotone for i in inputs)),
    )
