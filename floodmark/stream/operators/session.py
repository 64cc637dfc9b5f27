"""Session: the session of its partition that holds each row, as sessions change."""

from __future__ import annotations

from collections.abc import Mapping

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.session_window import SessionWindow
from floodmark.stream.operators.texts import recompute_lines
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.properties.state import StateTable
from floodmark.stream.properties.strategy import RecomputeScopes, ScopeKind, Strategy


class StreamSession(SessionWindow[n.Session]):
    """Sessions that change with their rows."""

    NODE = n.Session

    def derive_mode(self) -> ChangelogMode:
        return ChangelogMode.RETRACT

    def derive_strategy(self) -> Strategy:
        return RecomputeScopes(ScopeKind.SESSIONS, (self.node.partition,))

    def derive_needs_all_rows(self) -> bool:
        return True

    def derive_uses(self) -> int:
        return 4

    def derive_state(self) -> tuple[StateTable, ...]:
        return self.arrangements(self.node.partition)

    @property
    def released_by(self) -> tuple[StreamOperator[n.Node], str] | None:
        return None

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        return Description("Session", self.head(names), recompute_lines(self, place))
