"""Each node reaches its own operator."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from floodmark.dataflow.operators import dispatch
from floodmark.plan import nodes


def _classes(pattern: ast.pattern) -> Iterator[type]:
    """Yield the classes of which a pattern takes every value."""
    match pattern:
        case ast.MatchOr(patterns):
            for part in patterns:
                yield from _classes(part)
        case ast.MatchClass(cls=ast.Attribute(attr=name), patterns=[], kwd_patterns=[]):
            yield getattr(nodes, name)


def test_no_case_takes_the_nodes_of_a_later_one() -> None:
    tree = ast.parse(inspect.getsource(dispatch))
    matches = [node for node in ast.walk(tree) if isinstance(node, ast.Match)]
    assert len(matches) > 4
    for match in matches:
        taken: list[type] = []
        for case in match.cases:
            for cls in _classes(case.pattern):
                assert not any(issubclass(cls, above) for above in taken), cls.__name__
            taken += [] if case.guard is not None else _classes(case.pattern)
