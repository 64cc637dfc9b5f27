"""What EXPLAIN says of projections."""

from __future__ import annotations

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Call, ColumnRef, Literal
from floodmark.scalar.types import INT, Field
from floodmark.stream.operators.lower import lower
from floodmark.stream.printing.description import Description, NodePlace
from floodmark.stream.printing.labels import input_labels, labels_of


def described(columns: dict[str, str]) -> Description:
    """Return a projection in words that adds 1 to a column where its name differs."""
    below = tuple(Field(c, INT, False) for c in columns.values())
    scan = n.Scan("t", below, (below[0].name,), ChangelogMode.RETRACT)
    refs = {name: ColumnRef(INT, c) for name, c in columns.items()}
    exprs = (
        (name, ref if name == ref.name else Call(INT, "+", (ref, Literal(INT, 1))))
        for name, ref in refs.items()
    )
    plan = lower(n.Project(scan, tuple(exprs)))
    labels = labels_of(plan.root)
    place = NodePlace(plan, labels, {}, "v")
    return plan[plan.root].describe(input_labels(plan.root, labels), place)


def test_a_column_that_is_passed_on_is_no_line_whatever_its_name() -> None:
    told = described(
        {"id": "id", "sum: of all": "sum: of all", "quantity_and_one_more": "quantity_of_all"}
    )
    assert told == Description(
        "Project", 'id, "sum: of all"', (("quantity_and_one_more: quantity_of_all + 1",),)
    )
