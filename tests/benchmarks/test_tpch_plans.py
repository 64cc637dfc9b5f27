"""Every query of TPC-H plans as a view that is kept incremental; one that does not is named."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.tpch.queries import NAMES, TABLES, analysed, definition, refusal, schema
from floodmark.stream.objects.supported import check_supported

REFUSED = "CREATE MATERIALIZED VIEW v AS SELECT * FROM orders, LATERAL (SELECT o_custkey) AS c;"


def test_each_query_is_kept_incremental() -> None:
    pipeline = analysed(*map(definition, NAMES))
    for name in NAMES:
        plan = pipeline[name].plan
        assert plan is not None and not pipeline[name].refreshes
        check_supported(plan)
    assert {table for name in NAMES for table in pipeline[name].reads} == set(TABLES)


def test_a_refused_query_is_named_with_its_code() -> None:
    assert (refusal(REFUSED) or "").startswith("E0331: ")


def test_each_file_holds_the_view_of_its_name() -> None:
    for name in NAMES:
        assert re.match(rf"-- .+\nCREATE MATERIALIZED VIEW {name} AS\n", definition(name))


def test_each_table_follows_the_one_of_its_name() -> None:
    for table in TABLES:
        assert f"path = '/lake/{table}', mode = 'change_feed'" in schema(Path("/lake"))
