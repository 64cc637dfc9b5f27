"""Planted bugs of watermarks on tables, and of those that go by the clock."""

from __future__ import annotations

from tests.mutants.planted import Planted, on_spark

_TABLES = "tests/epochs/objects/test_watermarked_tables.py"
_HAS = "test_the_engine_has_the_watermarks_of_the_reference"
_RULES = f"tests/property/test_watermark_rules.py::{_HAS}"
_CLOCK = "tests/epochs/test_watermarks_by_clock.py"
WATERMARKS = (
    Planted(
        "a row of a statement at the watermark is late",
        "floodmark.dataflow.intake.watermark_filter:add_route",
        "{ident(m.column)} < __bound_{i}'",
        "{ident(m.column)} <= __bound_{i}'",
        on_spark("watermark_on_table"),
    ),
    Planted(
        "the slowest sink holds the watermark back",
        "floodmark.epochs.objects.watermarks:Marks._hold_back",
        "min(running) if names else _greatest(running)",
        "min(running)",
        on_spark("watermark_on_table_of_sinks"),
    ),
    Planted(
        "what statements have reached is forgotten",
        "floodmark.epochs.objects.watermarks:Marks.record_fields",
        "'reached': {} if alone else self.max_event_times",
        "'reached': {}",
        (f"{_TABLES}::test_a_connector_holds_the_watermark_back_and_statements_do_not",),
    ),
    Planted(
        "a table that has stored its rows reads them again after a kill",
        "floodmark.epochs.objects.watermarked_table:WatermarkedTable.find_earlier_record",
        "self.advance.writer.find_record(layout.current_table(self.obj))",
        "None",
        (f"{_TABLES}::test_an_attempt_that_stored_all_needs_its_file_no_more",),
    ),
    Planted(
        "a statement's time too far ahead is taken in",
        "floodmark.dataflow.intake.watermark_filter:_tests",
        "for column in limits:",
        "for column in ():",
        on_spark("watermark_max_ahead_on_table"),
    ),
    Planted(
        "a file with a time too far ahead is taken over as it is",
        "floodmark.epochs.objects.source:SourceIngest._is_before",
        "ends is not None and ends[1] <= latest",
        "True",
        (f"{_CLOCK}::test_files_are_taken_over_where_statistics_say_that_none_is_ahead",),
    ),
    Planted(
        "the clock does not wait for a source that is behind",
        "floodmark.epochs.objects.watermarks:Marks.close_epoch",
        "not exhausted",
        "False",
        (f"{_CLOCK}::test_a_source_that_is_behind_or_out_of_reach_is_not_silent",),
    ),
    Planted(
        "a silent connector is waited for",
        "floodmark.epochs.objects.watermarks:Marks.close_epoch",
        "self.now - after.last_activity[p] < idle",
        "True",
        on_spark("watermark_idle_connector_of_a_table"),
    ),
    Planted(
        "time has epochs that close nothing",
        "floodmark.epochs.clock_watermarks:_is_worth",
        "earlier is None or earlier <= high",
        "True",
        (f"{_CLOCK}::test_each_view_is_closed_by_one_epoch_of_time_alone",),
    ),
    Planted(
        "the watermark of a join is that of its faster side",
        "floodmark.stream.operators.join:StreamJoin.propagate.hold",
        "min(values, key=rank)",
        "max(values, key=rank)",
        (_RULES,),
    ),
    Planted(
        "the left column of a join has the watermark of the right side",
        "floodmark.stream.operators.join:StreamJoin.propagate",
        "hold(a, left[a], right[b])",
        "hold(a, right[b])",
        (_RULES,),
    ),
    Planted(
        "a distance does not bound a join's times",
        "floodmark.stream.operators.join:StreamJoin.propagate",
        "hold(far.column, both[far.column], least)",
        "hold(far.column, both[far.column])",
        (_RULES,),
    ),
    Planted(
        "of several conditions of a join the lowest bound counts",
        "floodmark.stream.operators.join:StreamJoin.propagate.hold",
        "out[column] = max((out.get(column, bound), bound), key=rank)",
        "out[column] = min((out.get(column, bound), bound), key=rank)",
        (_RULES,),
    ),
    Planted(
        "a union has the watermark of its first input",
        "floodmark.stream.operators.union_all:StreamUnionAll.propagate",
        "{f.name: lowest(values, f.type) for f, values",
        "{f.name: values[0] for f, values",
        (_RULES,),
    ),
    Planted(
        "a set operation has the watermark of its left side",
        "floodmark.stream.operators.set_operation:StreamSetOperation.propagate",
        "{a: lowest((left[a], right[b]), self.node.field(a).type) for a, b in met}",
        "{a: left[a] for a, b in met}",
        (_RULES,),
    ),
    Planted(
        "a window without rows between two is the one that is over",
        "floodmark.stream.operators.hop:StreamHop.propagate",
        "(following, shift_and_clamp(following, node.size))",
        "(align(below[node.time], node.slide, node.offset), following)",
        (_RULES,),
    ),
)
