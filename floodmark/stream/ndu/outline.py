"""A plan in short, for errors: one line per operator with its changelog mode and its keys."""

from __future__ import annotations

from typing import Any

from floodmark.plan import nodes as n
from floodmark.plan.expr.printing import show_name
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.printing.description import NodePlace
from floodmark.stream.printing.labels import input_labels, labels_of
from floodmark.stream.properties.key_sets import Keys


def outline(plan: StreamPlan, root: n.Node) -> str:
    """Return the text of the plan from a node down, inputs first."""
    labels = labels_of(plan.root)
    place = NodePlace(labels, {}, None)
    rows = []
    for node in dict.fromkeys(n.walk(root)):
        known = plan[node]
        said = known.describe(input_labels(node, labels), place)
        inputs = ", ".join(plan[child].identifier for child in node.inputs)
        head = f"{known.identifier} := {said.operator}{f'[{inputs}]' if inputs else ''}"
        # Of a projection the details are its expressions: what an error is about is among them.
        computed = isinstance(node, n.Project | n.MaterializeProject) or not said.arguments
        details = [cells[0] for cells in said.details] if computed else []
        arguments = "; ".join([*([said.arguments] if said.arguments else []), *details])
        keys = f"upsert keys {keys_text(known.upsert_keys)}"
        rows.append((f"{head} {arguments}".rstrip(), str(known.mode), _key(known), keys))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join(
        "  " + "   ".join((*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]))
        for row in rows
    )


def keys_text(keys: Keys) -> str:
    """Return alternative keys as text, `none` where there is none.

    >>> keys_text((frozenset({"b", "a"}), frozenset({"c"})))
    '[a, b] [c]'
    """
    return " ".join(f"[{', '.join(show_name(c) for c in sorted(key))}]" for key in keys) or "none"


def _key(known: StreamOperator[Any]) -> str:
    return f"key [{', '.join(show_name(c) for c in known.stream_key)}]"
