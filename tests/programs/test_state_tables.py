"""EXPLAIN names the state tables that an object has; `test_programs_spark` asks what is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.errors import NotSupported
from floodmark.stream.objects.analysed import Pipeline
from floodmark.tables import layout
from floodmark.testing.program import load
from tests.explained_state import explained_tables
from tests.program_reference import compile_sql

PROGRAMS = sorted(Path(__file__).parent.glob("*.txt"))


def pipeline_of(path: Path) -> Pipeline:
    try:
        return compile_sql(load(path).sql)
    except NotSupported as error:
        pytest.skip(error.message)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_explain_names_the_tables_of_the_layout(path: Path) -> None:
    pipeline = pipeline_of(path)
    for obj in (o for o in pipeline.objects.values() if o.plan is not None):
        sent = [] if obj.external_sink is None else [layout.sink_progress_table(obj)]
        assert sorted(layout.state_tables(obj)) == sorted([*explained_tables(obj, pipeline), *sent])


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_each_input_that_is_kept_has_a_table_of_its_place(path: Path) -> None:
    for obj in pipeline_of(path).objects.values():
        for op in () if obj.plan is None else obj.plan.operators.values():
            kept = [op.arrangement(i) for i in range(len(op.inputs))]
            of_inputs = [table for table in op.state if table.role == "input arrangement"]
            assert [table for table in kept if table is not None] == of_inputs
            for table, below in zip(kept, op.inputs, strict=True):
                assert table is None or not below.has_arrangement
