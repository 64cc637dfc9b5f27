"""A view with a changed query: its new rows, published as differences from its stored rows.

Dead letters are published as differences, too.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from floodmark import failpoints
from floodmark.changelog import WEIGHT
from floodmark.dataflow import materialize
from floodmark.dataflow.evaluation import Evaluation
from floodmark.dataflow.stages import ObjectStages
from floodmark.epochs.objects import recomputed_letters
from floodmark.epochs.objects.object_advance import ObjectAdvance
from floodmark.spark.columns import WEIGHT_FIELD
from floodmark.spark.rows import Rows
from floodmark.spark.types import ident
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.tables import layout
from floodmark.tables.cut import Cut
from floodmark.tables.tables import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def replace_view(advance: ObjectAdvance) -> ObjectRecord:
    """Compute a view as if the epoch created it; write and commit the differences.

    Beside the jobs of its operators there are two: the rows, and the changes from the stored rows
    to them.
    """
    obj, advance_input = advance.obj, advance.input
    assert obj.plan is not None
    stages = _empty_stages(advance)
    inputs = advance_input.inputs(advance.tables, obj)
    rows = Evaluation(obj.plan, inputs, stages).root()
    table, schema = layout.current_table(obj), layout.current_schema(obj)
    created = _initial_rows(advance, stages, rows)
    names = [ident(f.name) for f in schema]
    files = () if created is None else advance.writer.write(table, created.selectExpr(*names))
    changes = _differing(advance, advance.writer.paths(table, files))
    written = () if changes is None else advance.writer.write(layout.changes_table(obj), changes)
    recomputed_letters.replace_standing(advance, stages)
    failpoints.reach("files_written")
    versions = advance.dead_letters([*stages.dead, *stages.withdrawn])
    failpoints.reach("state_committed")
    for name, columns, adds in (
        (layout.changes_table(obj), layout.changes_schema(obj), written),
        (layout.layer_table(obj), layout.layer_schema(obj), ()),
        (table, schema, files),
    ):
        if name == layout.layer_table(obj) and not advance.tables.store.exists(name):
            continue
        on = advance.writer.newest(name, columns)
        removes = () if name == layout.changes_table(obj) else on.files
        done = advance.writer.commit(name, columns, adds, removes, on, reshapes=True)
        versions[name] = done.version
        failpoints.reach("first_table_committed")
    marks = inputs.watermarks(obj.plan.top)
    return ObjectRecord(
        obj.key,
        {**advance.versions_before(), **stages.versions, **versions},
        rows_in=advance.rows_of_inputs(obj.reads),
        rows_out=rows_of(written),
        dead_rows=stages.dead_rows,
        asked=advance.external_versions(),
        due=stages.first_due,
        watermarks={w: marks[w] for w, _ in obj.relation.watermarks if w in marks},
    )


def _empty_stages(advance: ObjectAdvance) -> ObjectStages:
    """Return stages of a view that has no rows yet."""
    before = advance.input.before
    others = {key: r for key, r in before.records.items() if key != advance.obj.key}
    return replace(advance.stages(advance.obj), before=Cut(before.epoch, others))


def _initial_rows(
    advance: ObjectAdvance, stages: ObjectStages, rows: Rows | None
) -> DataFrame | None:
    """Return all rows of the new query, with what the view keeps beside them."""
    relation = advance.obj.relation
    if rows is not None and rows.failing:
        frame = stages.settle("root", rows, (*relation.columns, WEIGHT_FIELD))
        if frame is None:
            return None
        rows = replace(rows, frame=frame, failing=False, has_kinds=False, extra_columns=())
    if rows is None:
        return None
    return materialize.changelog(rows, relation.columns, relation.stream_key, advance.input.epoch)


def _differing(advance: ObjectAdvance, paths: list[str]) -> DataFrame | None:
    """Return the changelog from the stored rows to the new ones."""
    relation = advance.obj.relation
    columns, key = relation.columns, relation.stream_key
    names = [ident(f.name) for f in columns]
    stored, _ = advance.rows_before({})
    sides = [] if stored is None else [stored.selectExpr(*names, f"-1 AS {WEIGHT}")]
    if paths:
        fresh = advance.tables.read_paths(paths, columns)
        sides.append(fresh.selectExpr(*names, f"1 AS {WEIGHT}"))
    if not sides:
        return None
    both = Rows(reduce(lambda a, b: a.unionAll(b), sides))
    return materialize.changelog(both, columns, key, advance.input.epoch)
