"""What operators' files say without a twin in `Derived` equals what the old rules say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import determinism
from floodmark.plan.expr.printing import to_text
from floodmark.stream.lint import advice
from floodmark.stream.objects import rereads, supported
from floodmark.stream.operators import lower
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.passes.keep_keys import keep_keys
from floodmark.stream.printing.labels import labels_of
from floodmark.stream.properties.bounds import Bounds
from floodmark.stream.properties.state import Beside, own_rows, own_table
from floodmark.tables.bounds import of_changes
from floodmark.testing.program import load as load_program
from tests.golden.cases import actual, load
from tests.program_reference import compile_sql
from tests.stream.every_node import unanalysed
from tests.stream.test_shadow import PROGRAMS, outcome, sample

ADVICE = (
    advice._growing_state, advice._one_group, advice._cross_joins, advice._several_watermarks,
    advice._lookups,
)  # fmt: skip


class Hooked(dict[type[n.Node], type[StreamOperator[Any]]]):
    """Asks each operator that has a class of its own."""

    def get(self, kind: type[n.Node], default: Any = None) -> Any:  # type: ignore[override]
        own = super().get(kind)
        return default if own is None else lambda *args: asked(own(*args))


def asked(made: StreamOperator[Any]) -> StreamOperator[Any]:
    node, plan = made.node, StreamPlan(made.node, _reached(made))
    assert made.rereads == bool(rereads._inputs(node, plan))
    if made.rereads:
        assert made.title == rereads._text(node, plan)
    beside = (own_table(node) and Beside.GROUPS) or (own_rows(node) and Beside.ROWS)
    assert made.beside == (None if isinstance(node, n.Project) else beside)
    loose = made.unstable()
    told = None if loose is None else f"{to_text(loose)} is {determinism(loose).value} and"
    assert told == supported._loose(node, plan)
    assert made.unsupported() == supported._reason(node)
    notes = Counter((note.code, note.text) for rule in ADVICE for note in rule(plan))
    below = (note for i in dict.fromkeys(made.node.inputs) for note in _notes(plan, i))
    assert Counter(made.advise(labels_of(node))) == notes - Counter(below)
    for scanned in (_inside, lambda scan: None):
        inputs = [of_changes(child, scanned) for child in node.inputs]
        inputs = inputs or [scanned(node)]
        assert made.bound(inputs) == of_changes(node, scanned)
    return made


def _reached(made: StreamOperator[Any]) -> dict[n.Node, StreamOperator[Any]]:
    below = {node: one for i in made.inputs for node, one in _reached(i).items()}
    return below | {made.node: made}


def _notes(plan: StreamPlan, root: n.Node) -> list[tuple[str, str]]:
    part = StreamPlan(root, {node: plan[node] for node in n.walk(root)})
    return [(note.code, note.text) for rule in ADVICE for note in rule(part)]


def _inside(node: n.Node) -> Bounds:
    values = ((f.name, sample(f, 0)) for f in node.schema)
    return {name: (value, value) for name, value in values if value is not None}


@pytest.fixture(autouse=True)
def hooked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "_CLASSES", Hooked(lower._CLASSES))


@pytest.mark.parametrize("case", load(), ids=lambda c: f"{c.file}-{c.name}")
def test_goldens_hooks(case: Any) -> None:
    assert actual(case) == case.expect.rstrip("\n")


@pytest.mark.parametrize("name", unanalysed())
def test_every_node_hooks(name: str) -> None:
    outcome(lambda: lower.lower(keep_keys(unanalysed()[name])))


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.txt")), ids=lambda p: p.stem)
def test_programs_hooks(path: Path) -> None:
    outcome(lambda: compile_sql(load_program(path).sql))
