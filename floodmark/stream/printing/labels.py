"""What the columns of a plan are called in EXPLAIN.

An aggregate's columns have generated names until the projection above gives them the user's names.
EXPLAIN shows the user's name from the aggregate on. A call without one, as in HAVING, is shown
itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import AggCall, ColumnRef
from floodmark.plan.expr.printing import aggregate_text, show_name, window_text

Labels = Mapping[n.Node, Mapping[str, str]]
"""By node: the name to show for each of its output columns."""


def labels_of(root: n.Node) -> Labels:
    """Return the labels of the output columns of every node."""
    given = _user_names(root)
    labels: dict[n.Node, Mapping[str, str]] = {}
    for node in n.walk(root):
        if node not in labels:
            labels[node] = _labels(node, labels, given.get(node, {}))
    return labels


def input_labels(node: n.Node, labels: Labels) -> dict[str, str]:
    """Return the labels of all columns that a node's expressions can read."""
    return {name: text for child in node.inputs for name, text in labels[child].items()}


def _labels(node: n.Node, labels: Labels, given: Mapping[str, str]) -> dict[str, str]:
    below = input_labels(node, labels)
    if isinstance(node, n.Project | n.MaterializeProject):
        below = {}
    own = {
        column: given.get(column) or _text(made, below)
        for column, made in node.generated_columns.items()
    }
    return {f.name: own.get(f.name) or below.get(f.name) or show_name(f.name) for f in node.schema}


def _text(made: AggCall | n.WindowCall | str, below: Mapping[str, str]) -> str:
    match made:
        case AggCall():
            return aggregate_text(made, below)
        case n.WindowCall():
            return window_text(made, below)
        case str():
            return made


def _user_names(root: n.Node) -> dict[n.Node, dict[str, str]]:
    """Map generated columns to the first name that a projection above gives them."""
    given: dict[n.Node, dict[str, str]] = {}
    for node in n.walk(root):
        if isinstance(node, n.Project | n.MaterializeProject):
            for name, expr in node.columns:
                if isinstance(expr, ColumnRef):
                    origin = _origin(node.input, expr.name)
                    if origin is not None:
                        given.setdefault(origin, {}).setdefault(expr.name, show_name(name))
    return given


def _origin(node: n.Node, column: str) -> n.Node | None:
    """Return the node below that makes a generated column, seen through what passes it on."""
    if column in node.generated_columns:
        return node
    if isinstance(node, n.Unary) and column in node.input.names:
        return _origin(node.input, column)
    return None
