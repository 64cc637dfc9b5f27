"""Where the boxes of the graph stand."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.report.graph import draw
from floodmark.report.plots import bars, times
from floodmark.sql.parse import parse_script
from floodmark.sql.statements import Definition
from floodmark.stream.objects.pipeline import analyse_catalog

SQL = """
CREATE TABLE "<a>" (k INT PRIMARY KEY);
CREATE TABLE b (k INT PRIMARY KEY);
CREATE MATERIALIZED VIEW c AS SELECT b.k FROM b;
CREATE MATERIALIZED VIEW d AS SELECT c.k FROM c JOIN "<a>" x ON c.k = x.k;
"""


def test_columns_follow_the_flow_and_boxes_keep_apart() -> None:
    catalog = Catalog()
    for statement in parse_script(SQL):
        assert isinstance(statement, Definition)
        catalog = catalog.create(statement, Origin.FILE)
    svg = draw(analyse_catalog(catalog), {}, frozenset({"d"}))
    found = [(float(x), float(y)) for x, y in re.findall(r'<rect x="(\d+)" y="(\d+)"', svg)]
    assert len(set(found)) == 4
    assert len({x for x, _ in found}) == 3
    assert "&lt;a&gt;" in svg and 'class="node suspended"' in svg
    assert svg.count('class="edge"') == 3


def test_plots_of_nothing_and_of_one_epoch() -> None:
    assert "<svg" in bars([], {"a": []}, "rows")
    assert 'height="' in bars([1], {"a": [5.0], "b": [0.0]}, "rows")
    moments = [datetime(2024, 1, 1, tzinfo=UTC), None]
    assert "polyline" in times([1, 2], {"w": moments})
