"""What all operators share that look at one row at a time."""

from __future__ import annotations

from floodmark.plan import nodes as n
from floodmark.stream.operators.base import N, StreamOperator
from floodmark.stream.properties.cleaning import Cleaning
from floodmark.stream.properties.state import OwnTableState


class RowLocal(StreamOperator[N], family=True):
    """An operator that computes each row by itself and reads no unchanged rows."""

    def derive_cleaning(self) -> tuple[Cleaning | None, ...]:
        return (None,) * len(self.inputs)

    def derive_rereads(self) -> bool:
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
