"""Planted bugs of streaming plans, of the passes that make them, and of limits."""

from __future__ import annotations

from tests.mutants.planted import Planted

_WATERMARKS = "tests/property/test_watermark_rules.py::"
_VALUES = f"{_WATERMARKS}test_the_engine_has_the_watermarks_of_the_reference"
_LATER = f"{_WATERMARKS}test_no_later_change_is_below_a_watermark"
_PROMISES = (
    "tests/property/test_reference_properties.py::test_every_node_keeps_what_the_analysis_promises"
)
_OF_TWO = (
    "tests/property/test_reference_properties.py::"
    "test_what_two_rows_decide_keeps_what_the_analysis_promises"
)
_KEYS = "tests/property/test_stream_keys.py::test_the_engine_has_the_stream_keys_of_the_reference"
_SEVERAL = "tests/stream/operators/test_several_inputs.py::"
_GOLDEN = "tests/golden/test_golden_plans.py::test_plan"
_PASSES = "tests/stream/test_passes.py::"
_LIMITS = "tests/cli/test_limits.py::test_the_parts_of_a_warehouse_go_by_its_limits"
PROPERTIES = (
    Planted(
        "a padded column of a join carries a watermark",
        "floodmark.stream.operators.join:StreamJoin.derive_watermarks",
        "for c, pads in padded if not pads",
        "for c, pads in padded",
        (_LATER,),
    ),
    Planted(
        "a column of a union carries the watermark of its first input",
        "floodmark.stream.operators.union_all:StreamUnionAll.derive_watermarks",
        "[c for c in groups[0] if all((c in branch for branch in groups))]",
        "list(groups[0]); groups = [{**groups[0], **branch} for branch in groups]",
        (f"{_SEVERAL}test_a_union_carries_a_watermark_that_all_inputs_have",),
    ),
    Planted(
        "columns of a set operation carry a watermark if one side has it",
        "floodmark.stream.operators.set_operation:StreamSetOperation.derive_watermarks",
        "if a in lefts and b in rights]",
        "if a in lefts and (rights := {b: lefts[a], **rights})]",
        (_VALUES,),
    ),
    Planted(
        "a lookup carries the watermark of what is looked up",
        "floodmark.stream.operators.lookup_join:StreamLookupJoin.derive_watermarks",
        "self.left.marks",
        "Watermarks((*self.left.marks.columns, *self.right.marks.columns))",
        (_VALUES,),
    ),
    Planted(
        "the watermark of a lookup waits for what is looked up",
        "floodmark.stream.operators.lookup_join:StreamLookupJoin.propagate",
        "inputs[0]",
        "inputs[0] if inputs[1] else {}",
        (_VALUES,),
    ),
    Planted(
        "the pairs of a join have the key of its left side",
        "floodmark.stream.operators.pairing:pair_key",
        "distinct(*left, *(stands_for.get(c, c) for c in right), *(a for a, _ in node.equi))",
        "distinct(*left, *(a for a, _ in node.equi))",
        (_PROMISES,),
    ),
    Planted(
        "a side that is padded identifies the pairs of a join",
        "floodmark.stream.operators.pairing:pair_key",
        "set(right) <= right_equi and (not node.kind.pads_left)",
        "set(right) <= right_equi",
        (_PROMISES,),
    ),
    Planted(
        "what was looked up identifies a left row",
        "floodmark.stream.operators.lookup_join:StreamLookupJoin.key_of",
        "lasts=False",
        "lasts=True",
        (_KEYS,),
    ),
    Planted(
        "pairs are known without the columns by which they meet",
        "floodmark.stream.operators.pairing:pair_key",
        "distinct(*left, *(stands_for.get(c, c) for c in right), *(a for a, _ in node.equi))",
        "distinct(*left, *(stands_for.get(c, c) for c in right))",
        (_KEYS,),
    ),
    Planted(
        "a group is known by one of its columns",
        "floodmark.stream.operators.grouping:StreamGrouping.key_of",
        "node.group",
        "node.group[:1]",
        (_KEYS,),
    ),
    Planted(
        "of ties in the first place one alone has a key",
        "floodmark.stream.operators.top_n:StreamTopN.key_of",
        "node.limit == 1 and (not node.with_ties)",
        "node.limit == 1",
        (_OF_TWO,),
    ),
    Planted(
        "the first rows of a group have the key of the group",
        "floodmark.stream.operators.top_n:StreamTopN.key_of",
        "node.group if one and node.group",
        "node.group if node.group",
        (_KEYS,),
    ),
    Planted(
        "padded rows are never taken back",
        "floodmark.stream.operators.join:StreamJoin.derive_mode",
        "inner and appends",
        "appends",
        (_OF_TWO,),
    ),
    Planted(
        "the first rows are never taken back",
        "floodmark.stream.operators.top_n:StreamTopN.derive_mode",
        "ChangelogMode.RETRACT",
        "self.input.mode",
        (_OF_TWO,),
    ),
    Planted(
        "a union changes as its first input does",
        "floodmark.stream.operators.union_all:StreamUnionAll.derive_mode",
        "ChangelogMode.worst(*(i.mode for i in self.inputs))",
        "self.inputs[0].mode",
        (_PROMISES,),
    ),
    Planted(
        "a set operation changes as its left side does",
        "floodmark.stream.operators.set_operation:StreamSetOperation.derive_mode",
        "ChangelogMode.RETRACT",
        "self.left.mode",
        (_OF_TWO,),
    ),
)


def _dropped(step: str, uses: str, test: str) -> Planted:
    """Return the bug that no plan goes through a pass."""
    at, text = "floodmark.stream.objects.planning:PASSES", f"Pass({step}, {uses})"
    return Planted(f"the pass {step} is dropped", at, text, "*()", (test,))


DROPPED = (
    _dropped("node_step(drop_orders)", "ALL - QUERIES", f"{_GOLDEN}[ordered-order_alone]"),
    Planted(
        "the rules of the logical plan are dropped",
        "floodmark.stream.objects.planning:PASSES",
        "for rule in RULES",
        "for rule in ()",
        (f"{_GOLDEN}[closing-the_first_rows_of_each_window_held_back]",),
    ),
    _dropped(
        "node_step(lift_conditions)",
        "QUERIES",
        f"{_PASSES}test_a_query_evaluates_a_volatile_condition_above_its_join",
    ),
    _dropped(
        "node_step(add_temporal_filters)",
        "ALL - QUERIES - {Use.REFRESHED}",
        f"{_GOLDEN}[temporal-sliding_window_by_two_conditions]",
    ),
    _dropped(
        "node_step(keep_order_keys)",
        "{Use.SELECT}",
        f"{_PASSES}test_an_order_has_the_keys_that_decide_between_ties",
    ),
    _dropped("node_step(keep_keys)", "LOWERED", f"{_GOLDEN}[closing-over_a_union]"),
    _dropped("lower_nodes", "LOWERED", f"{_GOLDEN}[closing-orders_per_hour]"),
    _dropped("release_on_close", "KEPT", f"{_GOLDEN}[closing-orders_per_hour]"),
    _dropped("judge_periods", "{*KEPT, Use.VIEW}", f"{_GOLDEN}[temporal-not_between]"),
    _dropped("store_rows", "{Use.STORED}", f"{_GOLDEN}[closing-orders_per_hour]"),
    _dropped("write_table", "{Use.INTO_TABLE}", f"{_GOLDEN}[closing-sink]"),
    _dropped("write_outside", "{Use.OUTSIDE}", f"{_GOLDEN}[sinks_outside-a_sink_of_every_change]"),
    _dropped("repair_updates", "KEPT", f"{_GOLDEN}[lookups-kept_elsewhere,_rows_that_are_updated]"),
    _dropped("colocate_state", "KEPT", f"{_GOLDEN}[lookups-condition_that_cannot_fail]"),
    _dropped(
        "drop_state",
        "{Use.REFRESHED}",
        f"{_PASSES}test_a_view_that_is_recomputed_keeps_no_state",
    ),
)
LOST_LIMITS = tuple(
    Planted(f"{part} has other limits than its warehouse", at, right, wrong, (_LIMITS,))
    for part, at, right, wrong in (
        (
            "a warehouse",
            "floodmark.api:Floodmark.__init__",
            "wait, durable, limits=limits",
            "wait, durable, limits=LIMITS",
        ),
        (
            "split enumeration",
            "floodmark.warehouse.warehouse:Warehouse.__init__",
            "SplitEnumerator(self.log, limits)",
            "SplitEnumerator(self.log, Limits())",
        ),
        (
            "SET",
            "floodmark.warehouse.warehouse:Warehouse.__init__",
            "Settings(limits)",
            "Settings(Limits())",
        ),
        (
            "a table",
            "floodmark.tables.tables:Tables.__init__",
            "self.limits = limits",
            "self.limits = type(limits)()",
        ),
        (
            "a connector",
            "floodmark.connectors.registry:make_connector",
            "limits))",
            "LIMITS))",
        ),
        (
            "a sink",
            "floodmark.connectors.registry:sender_of",
            "seed), limits)",
            "seed), type(limits)())",
        ),
    )
)
PLANS = (*PROPERTIES, *DROPPED, *LOST_LIMITS)
