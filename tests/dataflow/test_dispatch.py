"""Each operator has its own function of changes, each node its own batch form."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

import pytest

from floodmark.dataflow import batch, dispatch
from floodmark.dataflow.context import EpochContext, Input
from floodmark.plan import nodes as n
from floodmark.spark.rows import Rows
from floodmark.stream import operators
from floodmark.stream.operators import OPERATORS
from tests.stream.every_node import unanalysed


def _classes(pattern: ast.pattern) -> Iterator[type]:
    """Yield the classes of which a pattern takes every value."""
    match pattern:
        case ast.MatchOr(patterns):
            for part in patterns:
                yield from _classes(part)
        case ast.MatchClass(ast.Attribute(ast.Name(module), name), patterns=[], kwd_patterns=[]):
            yield getattr({"n": n, "ops": operators}[module], name)


def test_no_case_takes_the_nodes_of_a_later_one() -> None:
    trees = [ast.parse(inspect.getsource(module)) for module in (dispatch, batch)]
    matches = [part for tree in trees for part in ast.walk(tree) if isinstance(part, ast.Match)]
    assert len(matches) == 3
    for match in matches:
        taken: list[type] = []
        for case in match.cases:
            for cls in _classes(case.pattern):
                assert not any(issubclass(cls, above) for above in taken), cls.__name__
            taken += [] if case.guard is not None else _classes(case.pattern)


def test_all_functions_of_changes_have_one_signature() -> None:
    """Each takes its operator by its class, so that what the operator says is checked."""
    classes = {operator.__name__ for operator in OPERATORS}
    modules = (m for m in vars(dispatch).values() if inspect.ismodule(m) and hasattr(m, "delta"))
    taken = set()
    for module in modules:
        asked = inspect.get_annotations(module.delta)
        taken.add(operator := asked.pop("op"))
        assert operator in classes, module.__name__
        assert asked == {
            "inputs": f"Sequence[{Input.__name__}]",
            "ctx": EpochContext.__name__,
            "return": f"{Rows.__name__} | None",
        }, module.__name__
    assert taken == classes - {"StreamScan"}


def test_a_query_is_made_of_what_can_be_computed_again() -> None:
    assert set(n.NODE_CLASSES) - set(batch.BATCH) == {n.MaterializeProject, n.SortBuffer}
    with pytest.raises(AssertionError, match="rows of SortBuffer are read where they are stored"):
        batch.computed(unanalysed()["SortBuffer/append-only"])
