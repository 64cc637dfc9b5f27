"""The values of expressions: each kind is computed by a function of `functions/`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.types import nulls, repeat_constant

if TYPE_CHECKING:
    import pyarrow as pa

    from floodmark.spark.in_process.frame import Values

    Compute = Callable[[Any, LazyFrame], Values]

    Kind = type[exp.Expression] | str

_KNOWN: dict[Kind, Compute] = {}
"""How each kind of expression is computed, or each function by its name; the others are Spark's."""


class Family:
    """Functions that belong together."""

    def __init__(self) -> None:
        self.known: dict[Kind, Compute] = {}

    def computes(self, *kinds: Kind) -> Callable[[Compute], Compute]:
        """Say that a function computes some kinds of expressions."""

        def add(compute: Compute) -> Compute:
            self.known.update(dict.fromkeys(kinds, compute))
            return compute

        return add


def know(families: Iterable[Family]) -> None:
    """Compute what is in the families from now on."""
    for family in families:
        _KNOWN.update(family.known)


def is_known(node: exp.Expression) -> bool:
    """Tell whether a kind of expression is computed here, if its values are of the right types."""
    return _kind_of(node) in _KNOWN


def _kind_of(node: exp.Expression) -> Kind:
    return node.this.lower() if isinstance(node, exp.Anonymous) else type(node)


def evaluate(node: exp.Expression, frame: LazyFrame) -> Values:
    """Return the values of an expression; `UnsupportedQuery` for one that is not known here."""
    how = _KNOWN.get(_kind_of(node))
    if how is None:
        raise UnsupportedQuery(f"the expression {type(node).__name__} {node.name}")
    return how(node, frame)


def values_of(node: exp.Expression, frame: LazyFrame) -> pa.Array:
    """Return the values of an expression, one for each row."""
    return repeat_constant(evaluate(node, frame), frame.rows)


def path_of(node: exp.Column) -> list[str]:
    """Return the parts of a dotted name."""
    return [part.name for part in node.parts]


def is_true(values: Values) -> Values:
    """Return where a condition holds: neither FALSE nor NULL."""
    from pyarrow import compute as pc

    return pc.fill_null(truth(values), False)


def truth(values: Values) -> Values:
    """Return the values of a condition; `UnsupportedQuery` for other values."""
    import pyarrow as pa

    if pa.types.is_null(values.type):
        return nulls(values, pa.bool_())
    if not pa.types.is_boolean(values.type):
        raise UnsupportedQuery(f"a condition of {values.type}")
    return values


def truth_by_row(node: exp.Expression, frame: LazyFrame) -> pa.Array:
    """Return for each row whether a condition holds; NULL without a type is an error of Spark."""
    import pyarrow as pa

    values = evaluate(node, frame)
    if pa.types.is_null(values.type):
        raise UnsupportedQuery("a condition without a type")
    return repeat_constant(is_true(values), frame.rows)


def both(node: exp.Binary, frame: LazyFrame) -> tuple[Values, Values]:
    """Return the values of both sides of an operator."""
    return evaluate(node.this, frame), evaluate(node.expression, frame)
