"""Stream keys: the columns that identify a row of a node's changelog.

`StreamOperator.key_of` gives keys that the schema must still have; the rewrite
`floodmark.stream.passes.keep_keys` adds hidden columns where a projection would drop one.
"""

from __future__ import annotations

from collections.abc import Iterable

from floodmark.changelog import LEFT_ROW
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Cast, ColumnRef, Expr, Literal
from floodmark.scalar.types import VARCHAR

Key = tuple[str, ...]


def left_row(node: n.Pairing) -> str | None:
    """Return the hidden column of a full join that tells which rows have a left row, if any."""
    columns = node.left.columns if isinstance(node.left, n.Project) else ()
    note = (c for c, e in columns if c.startswith(LEFT_ROW) and isinstance(e, Literal))
    return next(note, None) if node.kind is n.JoinKind.FULL else None


def tells_padding(node: n.Pairing, columns: Iterable[str]) -> bool:
    """Tell whether no two rows of a full join, padded on either side, are NULL in all columns."""
    note = {f.name for f in (*node.left.schema, *node.right.schema) if not f.nullable}
    return not note.isdisjoint(columns)


def map_columns(columns: tuple[tuple[str, Expr], ...]) -> dict[str, str]:
    """Map input columns to output columns that determine them: themselves, or their text."""
    out: dict[str, str] = {}
    texts: dict[str, str] = {}
    for name, expr in columns:
        match expr:
            case ColumnRef():
                out.setdefault(expr.name, name)
            case Cast(operand=ColumnRef() as column) if expr.type == VARCHAR:
                texts.setdefault(column.name, name)
    return texts | out


def distinct(*columns: str) -> Key:
    return tuple(dict.fromkeys(columns))
