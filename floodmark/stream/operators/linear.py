"""What linear operators share: the output of a sum of rows is the sum of their outputs."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.stream.operators.base import N, StreamOperator
from floodmark.stream.properties.cleaning import Cleaning
from floodmark.stream.properties.state import OwnTableState


class Linear(StreamOperator[N], family=True):
    """An operator to whose output each row contributes by itself, whatever other rows there are.

    It needs the changes of its inputs alone. Some keep rows, or values of them, for later.
    """

    def derive_cleaning(self) -> tuple[Cleaning | None, ...]:
        return (None,) * len(self.inputs)

    def derive_needs_all_rows(self) -> bool:
        return False

    def derive_uses(self) -> int:
        return 1

    def derive_beside(self) -> OwnTableState | None:
        return None

    @property
    def released_by(self) -> tuple[StreamOperator[n.Node], str] | None:
        return None

    def unsupported_part(self) -> str | None:
        return None
