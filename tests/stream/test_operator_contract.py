"""An operator that forgets to say something is refused when its module is imported."""

from __future__ import annotations

import pytest

from floodmark.plan import nodes as n
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.top_n import StreamTopN


def test_one_that_says_nothing_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"StreamTee does not say: .*derive_watermarks.*NODE"):

        class StreamTee(StreamOperator[n.Filter]):
            pass


def test_each_saying_is_asked_for() -> None:
    asked = [
        a
        for a in dir(StreamOperator)
        if getattr(getattr(StreamOperator, a), "__isabstractmethod__", False)
    ]
    assert len(asked) > 15
    for name in asked:
        own = {k: v for k, v in vars(StreamTopN).items() if k != name and not k.startswith("__")}
        with pytest.raises(TypeError, match=name):
            type("StreamLess", (StreamOperator,), own)


def test_values_are_checked() -> None:
    from tests.stream.every_node import every_node

    plan = every_node()["TopN/retract"]
    with pytest.raises(AssertionError):
        plan[plan.root].evolve(stream_key=("nowhere",))
