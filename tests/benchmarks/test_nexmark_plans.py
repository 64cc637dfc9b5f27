"""Every query of Nexmark plans and is kept incremental."""

from __future__ import annotations

import re

import pytest

from benchmarks.nexmark.queries import (
    NAMES,
    ON_CLOSE,
    STREAMS,
    analysed,
    columns_of,
    definition,
    keeps_state,
    upsert_key,
)
from floodmark.connectors.base import SourceSpec
from floodmark.connectors.registry import make_connector
from floodmark.limits import LIMITS
from floodmark.stream.objects.supported import check_supported

APPEND_ONLY = {"q0", "q1", "q2", "q3", "q10", "q13", "q14", "q20", "q21", "q22", "q23"}
"""Queries whose rows never change, as in other engines."""


@pytest.mark.parametrize("name", NAMES)
def test_each_query_is_kept_incremental(name: str) -> None:
    view = analysed(name)[name]
    assert view.plan is not None
    check_supported(view.plan)
    assert view.append_only == (name in APPEND_ONLY)


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_change_have_a_key_of_columns(name: str) -> None:
    """Another system that upserts rows needs one, but for those that never change there."""
    final_elsewhere = {"q5", "q7", "q8"}
    assert bool(upsert_key(name)) == (name not in {*APPEND_ONLY, *final_elsewhere, "q6"})


def test_queries_that_keep_no_state() -> None:
    stateless = {name for name in NAMES if not keeps_state(name)}
    assert stateless == {"q0", "q1", "q2", "q10", "q14", "q21", "q22"}


@pytest.mark.parametrize("name", ON_CLOSE)
def test_what_emits_on_close_never_changes(name: str) -> None:
    view = analysed(name)[name]
    assert view.plan is not None and view.emits_on_close and view.append_only
    check_supported(view.plan)
    kept = [table for node in view.plan.nodes for table in view.plan[node].state]
    assert kept and all(table.cleaned_by for table in kept), kept


def test_each_file_holds_the_view_of_its_name() -> None:
    for name in NAMES:
        assert re.match(rf"-- .+\nCREATE MATERIALIZED VIEW {name} AS\n", definition(name))


@pytest.mark.parametrize("table", STREAMS)
def test_the_generator_makes_the_columns_of_the_schema(table: str) -> None:
    options = {"connector": "nexmark", "nexmark.table.type": table, "nexmark.event.num": "50"}
    make_connector(SourceSpec(table, columns_of(table), "", "", options), limits=LIMITS)
