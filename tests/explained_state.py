"""The state tables that EXPLAIN names, and those that are at rest."""

from __future__ import annotations

from floodmark.storage.table import Store
from floodmark.storage.warehouse import STATE
from floodmark.stream.explain.explain import explain_object
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.tables import layout


def explained_tables(obj: AnalysedObject, pipeline: Pipeline) -> dict[str, str]:
    """Return the role of each state table that the JSON form of EXPLAIN has for an object."""
    nodes = explain_object(obj, pipeline).as_dict()["nodes"]
    tables = (table for node in nodes for table in node["state"])
    return {layout.state_table(obj, table["name"]): table["role"] for table in tables}


def explained_roles(pipeline: Pipeline) -> dict[str, str]:
    """Return the role of each state table that EXPLAIN has for any object."""
    objects = (obj for obj in pipeline.objects.values() if obj.plan is not None)
    return {t: role for obj in objects for t, role in explained_tables(obj, pipeline).items()}


def written_state(store: Store, pipeline: Pipeline) -> set[str]:
    """Return the state tables at rest, but for what sinks have sent."""
    sinks = (obj for obj in pipeline.objects.values() if obj.external_sink)
    sent = {layout.sink_progress_table(obj) for obj in sinks}
    return {table for table in store.tables() if table.startswith(f"{STATE}/")} - sent
