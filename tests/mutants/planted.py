"""Planted bugs: wrong versions of functions of the engine, and which tests have to catch each."""

from __future__ import annotations

from dataclasses import dataclass

_ON_SPARK = "tests/programs/test_programs_spark.py::test_spark_emits_what_the_program_says"
_ON_REFERENCE = "tests/programs/test_programs.py::test_reference_emits_what_the_program_says"
_RANGES = "tests/dataflow/partitions/test_touched_ranges.py::test_touched_rows_are_all_that_change"
PROGRAMS = frozenset(test.partition("::")[0] for test in (_ON_SPARK, _ON_REFERENCE))
"""The files of tests that run programs."""


@dataclass(frozen=True)
class Planted:
    """A bug: in the function `at`, `right` (there once) becomes `wrong`; `tests` must fail.

    `at` is `module:Class.method`, or what a constant is called. `right` is a part of its text as
    `ast.unparse` writes it.
    """

    name: str
    at: str
    right: str
    wrong: str
    tests: tuple[str, ...]


def on_spark(*programs: str) -> tuple[str, ...]:
    """Return the tests that run programs, as they are written, on Spark."""
    return tuple(f"{_ON_SPARK}[{program}]" for program in programs)


def on_reference(*programs: str) -> tuple[str, ...]:
    """Return the tests that run programs on the reference interpreter."""
    return tuple(f"{_ON_REFERENCE}[{program}]" for program in programs)


CHANGES = (
    Planted(
        "an old row of an update is skipped",
        "floodmark.dataflow.inputs:EpochInputs._own_changes",
        "frame.selectExpr(*",
        "frame.where(f\"{KIND} <> '-U'\").selectExpr(*",
        on_spark("filter_update_crosses_predicate"),
    ),
    Planted(
        "the rows of an update are swapped",
        "floodmark.dataflow.materialize:_pairs",
        "agg(*sides).selectExpr(OLD_ROW, NEW_ROW)",
        'agg(*sides).selectExpr(f"{NEW_ROW} AS {OLD_ROW}", f"{OLD_ROW} AS {NEW_ROW}")',
        on_spark("filter_update_crosses_predicate"),
    ),
    Planted(
        "a sum that stays equal takes its row back",
        "floodmark.dataflow.operators.aggregate:_pair",
        "WHEN o <=> n THEN '-S' ELSE",
        "WHEN o <=> n THEN '-U' ELSE",
        on_spark("aggregate_sum_stays_equal"),
    ),
    Planted(
        "the second input of UNION has the ordinal of the first",
        "floodmark.dataflow.operators.union_all:_columns_of_branch",
        "f'CAST({ordinal} AS BIGINT)",
        "f'CAST(0 AS BIGINT)",
        on_spark("union_all_same_table_twice"),
    ),
    Planted(
        "elements are numbered from 0",
        "floodmark.dataflow.operators.project_set:_explode",
        "else f'{_PLACE} + 1'",
        "else _PLACE",
        on_spark("unnest_in_from"),
    ),
)
GROUPS = (
    Planted(
        "the group of NULL forgets what it had",
        "floodmark.spark.keyed:equals",
        "'=' if column in filled else '<=>'",
        "'='",
        on_spark("aggregate_null_group"),
    ),
    Planted(
        "a sum adds what is taken back",
        "floodmark.dataflow.groups.accumulators:accumulate",
        "texts, WEIGHT,",
        "texts, '1',",
        on_spark("aggregate_row_moves_between_groups"),
    ),
    Planted(
        "a minimum stays when its row goes",
        "floodmark.dataflow.groups.accumulators:_recompute",
        "('{new}',) * len(fields)",
        "('coalesce({old}, {new})',) * len(fields)",
        on_spark("aggregate_count_sum_avg_min_max"),
    ),
    Planted(
        "a group without rows stays",
        "floodmark.dataflow.groups.transitions:_sides",
        "f'nullif({count}, 0L)'",
        "count",
        on_spark("aggregate_group_vanishes_and_returns"),
    ),
    Planted(
        "the sum of no values is 0",
        "floodmark.scalar.functions.sums:_decompose_sum",
        "f'CASE WHEN {{nonnull}} > 0 THEN {_total(types[0])} END'",
        "_total(types[0])",
        on_spark("aggregate_nulls_are_skipped"),
    ),
    Planted(
        "NULLs count as values of a sum",
        "floodmark.scalar.functions.sums:NONNULL",
        "'CASE WHEN {0} IS NOT NULL THEN CAST({w} AS BIGINT) ELSE 0L END'",
        "'CAST({w} AS BIGINT)'",
        on_spark("aggregate_nulls_are_skipped"),
    ),
    Planted(
        "a value of DISTINCT counts from its second copy on",
        "floodmark.dataflow.groups.distinct_values:_sign",
        "f'CAST(coalesce({side}{column}, 0L) > 0 AS INT)'",
        "f'CAST(coalesce({side}{column}, 0L) > 1 AS INT)'",
        on_spark("aggregate_distinct"),
    ),
    Planted(
        "a value of DISTINCT counts again with each copy",
        "floodmark.dataflow.groups.distinct_values:_sign",
        "f'({new} - {old})'",
        "f'({new} - 0 * {old})'",
        on_spark("aggregate_distinct"),
    ),
)
JOINS = (
    Planted(
        "NULL equals NULL in ON",
        "floodmark.dataflow.operators.join:_equal",
        "[f'{ident(a)} = {ident(b)}' for a, b in node.equi]",
        "[f'{ident(a)} <=> {ident(b)}' for a, b in node.equi]",
        # Inner joins drop such rows before.
        on_spark("join_full_nullable_keys"),
    ),
    Planted(
        "padding stays when a match comes",
        "floodmark.dataflow.operators.join:_recompute_matches",
        "((new, 1), (old, -1))",
        "((new, 1), (new, -1))",
        on_spark("join_left_padding"),
    ),
    Planted(
        "a row of a semi join goes with the first of its matches",
        "floodmark.dataflow.operators.join:_recompute_matches",
        "((new, 1), (old, -1))",
        "((theirs.where(f'{WEIGHT} > 0').drop(WEIGHT), 1), (old, -1))",
        on_spark("join_semi_and_anti"),
    ),
    Planted(
        "only rows with the key of one change are read again",
        "floodmark.dataflow.key_sets:key_sets",
        "changes.selectExpr(f'{ident(values)} AS {KEY}')",
        "changes.limit(1).selectExpr(f'{ident(values)} AS {KEY}')",
        (
            "tests/programs/test_programs_by_key.py"
            "::test_rows_read_by_key_are_those_of_the_programs[some-spark-apart]",
        ),
    ),
    Planted(
        "rows that have come are there before, where a table is read by key",
        "floodmark.dataflow.keyed_reads:route_rows",
        "come = changes.frame.where(f'{WEIGHT} > 0')",
        "come = changes.frame.where('FALSE')",
        (
            "tests/programs/test_programs_by_key.py"
            "::test_rows_read_by_key_are_those_of_the_programs[some-here-shared]",
        ),
    ),
    Planted(
        "of rows with several keys one is enough",
        "floodmark.storage.files.key_search:_masks",
        "pc.and_(mask, met)",
        "pc.or_(mask, met)",
        ("tests/storage/files/test_key_search.py",),
    ),
    Planted(
        "a side is looked through for matches, and has rows without one",
        "floodmark.dataflow.key_sources:_only_matches",
        "return kind in (n.JoinKind.INNER, n.JoinKind.RIGHT, n.JoinKind.SEMI)",
        "return True",
        ("tests/dataflow/test_met_keys.py::test_views_equal_their_queries[spark]",),
    ),
    Planted(
        "a full join pairs rows before with rows after",
        "floodmark.dataflow.operators.full_join:_join",
        "f'{AFTER} = {_OTHER}'",
        "'TRUE'",
        on_spark("join_full_padding"),
    ),
    Planted(
        "what is looked up is lost with the next change of another row",
        "floodmark.dataflow.state.values:StoredValues.keep.build",
        "stored.where(self._lasts(over))",
        'stored.where("FALSE")',
        on_spark("lookup_updating_without_key"),
    ),
    Planted(
        "what is guarded fails where it is evaluated once",
        "floodmark.stream.ndu.repair:_PulledColumns.column",
        "attempt(expr) if can_fail(expr) else expr",
        "expr",
        on_reference("dead_volatile_guarded"),
    ),
    Planted(
        "a condition that is NULL drops padding beside one that fails",
        "floodmark.plan.rules.join_conditions:_kind",
        "is_movable(p) and (not fails or _is_test(p))",
        "is_movable(p)",
        on_reference("dead_spared_below"),
    ),
    Planted(
        "an old row takes back what is looked up now",
        "floodmark.dataflow.operators.lookup_join:_Lookup.from_state",
        "((new, stored), (old, before))",
        "((new, stored), (old, stored))",
        on_spark("lookup_updating_without_key"),
    ),
    Planted(
        "rows stay that a subquery's new value refuses",
        "floodmark.dataflow.operators.dynamic_filter:_crossing_rows",
        "F.expr(f'({before}) <> ({after})')",
        "F.expr(f'NOT ({before}) AND ({after})')",
        on_spark("subquery_dynamic_filter"),
    ),
)
ORDERED = (
    Planted(
        "LIMIT lets one row too many in",
        "floodmark.dataflow.operators.top_n:_is_first",
        "None if node.limit is None else node.offset + node.limit",
        "None if node.limit is None else node.offset + node.limit + 1",
        on_spark("top_of_groups"),
    ),
    Planted(
        "ties of a limit are broken the other way round",
        "floodmark.dataflow.operators.top_n:order_of",
        "*map(n.SortKey, dict.fromkeys(rest))]",
        "*(n.SortKey(c, True) for c in dict.fromkeys(rest))]",
        on_spark("top_of_groups"),
    ),
    Planted(
        "a frame of GROUPS is one group too wide",
        "floodmark.dataflow.partitions.frames:_with_amount",
        "f'{literal.format(amount)} {side}'",
        "f'{literal.format(int(amount) + 1)} {side}'",
        on_spark("over_frames_of_groups"),
    ),
    Planted(
        "lag looks one row too far",
        "floodmark.dataflow.operators.over_window:_Printer._neighbour",
        "f'{towards}({value}, {abs(step)}{rest}){nulls}{over}'",
        "f'{towards}({value}, {abs(step) + 1}{rest}){nulls}{over}'",
        on_spark("over_neighbours"),
    ),
    Planted(
        "a row does not see the change that is as far back as it looks",
        "floodmark.dataflow.partitions.affected_frames:_END",
        "_START, _ROW, _END = (0, 1, 2)",
        "_START, _ROW, _END = (0, 2, 1)",
        (f"{_RANGES}[rows]", f"{_RANGES}[groups]"),
    ),
    Planted(
        "what touched rows see is cut off",
        "floodmark.dataflow.partitions.affected_frames:_marks",
        "_away(node, reach, _START, far)",
        "_away(node, reach, _START, reach.ahead)",
        (f"{_RANGES}[rows]", f"{_RANGES}[times]"),
    ),
    Planted(
        "EXCEPT ALL takes away one copy at most",
        "floodmark.dataflow.operators.set_operation:batch",
        "f'{_LEFT} - {_RIGHT}'",
        "f'{_LEFT} - least({_RIGHT}, 1L)'",
        on_spark("set_all_numbers_copies"),
    ),
    Planted(
        "INTERSECT keeps what one side alone has",
        "floodmark.dataflow.operators.set_operation:batch",
        "{('>' if intersects else '=')} 0",
        "{('>=' if intersects else '=')} 0",
        on_spark("set_intersect_and_except"),
    ),
)
TIMES = (
    Planted(
        "a window ends a microsecond early",
        "floodmark.dataflow.operators.tumble:end_of",
        "ELSE {start} + {size} END",
        "ELSE {start} + {size} - 1 END",
        on_spark("close_tumble_emits_once"),
    ),
    Planted(
        "times before 1970 are in the window after theirs",
        "floodmark.dataflow.operators.tumble:_columns",
        "f'{since} - pmod({since} - {offset}, {size})'",
        "f'{since} - ({since} - {offset}) % {size}'",
        on_spark("windows_before_1970"),
    ),
    Planted(
        "the last window that holds a time is left out",
        "floodmark.dataflow.operators.hop:repeat",
        "{size + slide - 1} - {past}",
        "{size - 1} - {past}",
        on_spark("hop_aggregate_retracts"),
    ),
    Planted(
        "a row exactly the gap later opens a session",
        "floodmark.dataflow.operators.session:_number_sessions",
        "- {before} > {length_micros(node.gap)}",
        "- {before} >= {length_micros(node.gap)}",
        on_spark("session_merges_and_splits"),
    ),
    Planted(
        "a row joins a session that stays as it was",
        "floodmark.dataflow.operators.session:_changed_sessions",
        "bool_or({AFTER} IS NULL)",
        "bool_and({AFTER} IS NULL)",
        on_spark("session_far_from_a_change"),
    ),
    Planted(
        "a row at the watermark is late",
        "floodmark.dataflow.intake.source:add_route",
        "[f'{ident(m.column)} < __bound_{i}'",
        "[f'{ident(m.column)} <= __bound_{i}'",
        on_spark("late_equal_is_not_late"),
    ),
    Planted(
        "dead rows raise the watermark",
        "floodmark.dataflow.intake.source:_running",
        "max(CASE WHEN {ERROR} IS NULL THEN {delayed} END)",
        "max({delayed})",
        on_spark("late_dead_rows_move_no_watermark"),
    ),
    Planted(
        "a watermark goes back",
        "floodmark.epochs.objects.watermarks:Marks._raise_to",
        "{c: _greatest((self.sealed.get(c), v)) for c, v in values.items()}",
        "dict(values)",
        on_spark("watermark_survives_idle_epochs"),
    ),
    Planted(
        "the watermark of a union is that of its fastest input",
        "floodmark.stream.operators.union_all:StreamUnionAll.propagate",
        "{f.name: lowest(values, f.type) for f, values",
        "{f.name: max(values) for f, values",
        on_spark("watermark_of_union_is_the_minimum"),
    ),
    Planted(
        "a window closes one too early",
        "floodmark.dataflow.operators.close_aggregate:_close_windows",
        "f'{window} < __after'",
        "f'{window} <= __after'",
        on_spark("close_tumble_emits_once"),
    ),
    Planted(
        "a window that has closed closes again",
        "floodmark.dataflow.operators.close_aggregate:_close_windows",
        "condition += f' AND {window} >= __before'",
        "pass",
        on_spark("close_tumble_emits_once"),
    ),
    Planted(
        "rows know the time of the run, not that of their epoch",
        "floodmark.epochs.objects.object_advance:ObjectAdvance.now",
        "micros_of(self.input.now)",
        "micros_of(datetime.now(self.input.now.tzinfo))",
        on_spark("source_ingestion_timestamp"),
    ),
)
PROTOCOL = (
    Planted(
        "an epoch that a table has recorded is committed again",
        "floodmark.storage.table:refuse_recorded",
        "recorded >= epoch",
        "recorded > epoch",
        ("tests/storage/stores/test_contract.py::test_an_epoch_is_recorded_once",),
    ),
    Planted(
        "rows that a crash left behind count twice",
        "floodmark.storage.table:refuse_recorded",
        "recorded >= epoch",
        "recorded > epoch",
        ("tests/crash/test_kill.py::test_a_small_pipeline_survives[view_committed:3]",),
    ),
    Planted(
        "a file that was taken in is listed again",
        "floodmark.connectors.files.discovery:_names",
        "printable_name(entry.name) not in discovery and ",
        "",
        (
            "tests/connectors/files/test_discover_splits.py::"
            "test_a_late_name_that_sorts_first_is_still_found",
        ),
    ),
    Planted(
        "a drawn value is drawn anew when its row goes",
        "floodmark.dataflow.operators.materialize_project:_from_state",
        "parts.append(_join(node, old, before, table.key, ctx))",
        "parts.append(_join(node, old, stored, table.key, ctx))",
        ("tests/dataflow/test_volatile_values.py::test_what_was_drawn_is_taken_back",),
    ),
    Planted(
        "zeros of both signs draw different values",
        "floodmark.spark.volatile:_part",
        "{value} + CAST(0 AS",
        "{value} - CAST(0 AS",
        ("tests/spark/test_volatile.py::test_spark_draws_what_the_reference_draws",),
    ),
)
PLANTED = (*CHANGES, *GROUPS, *JOINS, *ORDERED, *TIMES, *PROTOCOL)
