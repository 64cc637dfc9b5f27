"""The engine's stream keys of random plans against the reference's, which has rules of its own."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from floodmark.plan import nodes as n
from floodmark.reference.interpreter import key_of
from floodmark.stream.operators.lower import lower
from floodmark.stream.passes.keep_keys import keep_keys
from tests.property.loose_plans import loose_plans
from tests.property.pair_strategies import plans_of_two
from tests.property.plan_examples import PROFILE
from tests.property.plan_strategies import closing_plans, plans
from tests.property.watermark_strategies import timed_plans

roots = st.one_of(
    plans(), plans_of_two(), closing_plans(), loose_plans(asks=True), timed_plans().map(keep_keys)
)


@settings(PROFILE, max_examples=500)
@given(root=roots)
def test_the_engine_has_the_stream_keys_of_the_reference(root: n.Node) -> None:
    for node, operator in lower(root).operators.items():
        assert operator.stream_key == key_of(node), type(node).__name__
