"""The state tables that EXPLAIN names."""

from __future__ import annotations

from floodmark.stream.explain.explain import explain_object
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.tables import layout


def explained_tables(obj: AnalysedObject, pipeline: Pipeline) -> dict[str, str]:
    """Return the role of each state table that the JSON form of EXPLAIN has for an object."""
    nodes = explain_object(obj, pipeline).as_dict()["nodes"]
    tables = (table for node in nodes for table in node["state"])
    return {layout.state_table(obj, table["name"]): table["role"] for table in tables}
