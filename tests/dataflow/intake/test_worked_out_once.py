"""What is worked out of rows on their way: nothing twice, and nothing that nobody reads."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.connectors.base import Split
from floodmark.dataflow.operators import session
from floodmark.epochs.objects.source import reading
from floodmark.plan import nodes as n
from floodmark.scalar.types import INT, TIMESTAMP, Field
from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark


def plan_of(frame: Any, mode: str) -> str:
    return str(frame._explain_string(mode=mode))


def test_the_ends_of_sessions_are_worked_out_once(sessions: Sessions) -> None:
    table = n.Scan(
        "t", (Field("k", INT), Field("ts", TIMESTAMP)), ("k",), ChangelogMode.APPEND_ONLY
    )
    node = n.Session(table, "ts", (0, 0, 60_000_000), ("k",), start="ws", end="we")
    rows = "SELECT k, TIMESTAMP_NTZ'2024-01-01' AS ts FROM VALUES (1), (1), (2) AS t(k)"
    found = session.batch(node, sessions.main.sql(rows))
    begun, minute = datetime(2024, 1, 1), timedelta(minutes=1)
    assert {(r.k, r.ws, r.we) for r in found.collect()} == {
        (k, begun, begun + minute) for k in (1, 2)
    }
    plan = plan_of(found, "simple")
    (window,) = [w for w in re.findall(r"Window \[.*", plan) if "max(" in w]
    assert window.count("max(") == 1 and window.count("min(") == 1


def test_of_what_files_seem_to_lack_values_alone_are_counted(sessions: Sessions) -> None:
    split = Split(0, 0, 1, 1, {"file": "a.json", "lacks": ["ts"]})
    letter = "CAST(NULL AS struct<code: INT, row: STRING>) AS __error"
    rows = sessions.main.sql(f"SELECT 1 AS k, CAST(NULL AS STRING) AS ts, 0 AS __route, {letter}")
    routed, read = reading(rows, [split])
    plan = plan_of(routed, "extended")
    observed = next(line for line in plan.splitlines() if "CollectMetrics" in line)
    assert "count_if" in observed and not re.search(r"count\(|max\(", observed)
    routed.collect()
    assert read is not None and read.lacking == ("ts",)
