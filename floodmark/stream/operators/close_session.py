"""CloseSession: the rows of a session, once, when the watermark has passed its end."""

from __future__ import annotations

from collections.abc import Mapping

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.session_window import SessionWindow
from floodmark.stream.operators.texts import buffer_lines
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.properties.state import StateTable, buffer_name
from floodmark.stream.properties.strategy import Method, Strategy


class StreamCloseSession(SessionWindow[n.CloseSession]):
    """Sessions whose rows are held until the watermark has passed them."""

    NODE = n.CloseSession

    @property
    def buffer(self) -> StateTable:
        """Return the table of the rows of open sessions."""
        name = buffer_name(self.identifier)
        return StateTable(name, "open sessions", (self.node.time,), self.node.end)

    @property
    def passed_on(self) -> tuple[str, ...]:
        """Rows wait for the end of their session: other times may be passed before they come."""
        return ()

    def derive_mode(self) -> ChangelogMode:
        return ChangelogMode.APPEND_ONLY

    def derive_strategy(self) -> Strategy:
        return Method.SESSIONS_HELD

    def derive_needs_all_rows(self) -> bool:
        """Held rows would be enough. It is refused where a session with updates is."""
        return True

    def derive_uses(self) -> int:
        return 4

    def derive_state(self) -> tuple[StateTable, ...]:
        return (self.buffer,)

    @property
    def released_by(self) -> tuple[StreamOperator[n.Node], str] | None:
        """The end of a session is no column of what is read."""
        return self, self.node.end

    def describe(self, names: Mapping[str, str], place: NodePlace) -> Description:
        return Description("Session", self.head(names), buffer_lines(self, place))
