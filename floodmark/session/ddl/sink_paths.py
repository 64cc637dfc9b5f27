"""Checks of the paths of external sinks before the sinks are created."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from floodmark.connectors.registry import sender_of
from floodmark.connectors.sinks.identity import probe
from floodmark.errors import UserError
from floodmark.session.ddl.deployment import DeploymentPlan
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.warehouse.warehouse import Warehouse


def check_sink_paths(plan: DeploymentPlan, warehouse: Warehouse) -> None:
    """Raise if a sink that a plan creates or changes could not write.

    Raises E0740 to E0744 and writes nothing. Faults that only a write shows are found by
    `probe_sink_paths`.
    """
    for obj in _sinks_to_fill(plan, warehouse):
        with _point_at_name(obj):
            _check_root(obj, Path(warehouse.objects.place))
            sender_of(obj, warehouse.seed, warehouse.limits).check()


def probe_sink_paths(plan: DeploymentPlan, warehouse: Warehouse) -> None:
    """Raise E0741 if nothing can be written to the path of such a sink, as on a full disk."""
    for obj in _sinks_to_fill(plan, warehouse):
        assert obj.external_sink is not None
        with _point_at_name(obj):
            probe(obj.name, obj.external_sink.path)


def _sinks_to_fill(plan: DeploymentPlan, warehouse: Warehouse) -> Iterator[AnalysedObject]:
    before = warehouse.deployed().pipeline.objects
    other = [
        c.key for c in plan.changes if c.action == "alter" and _writes_else(c.key, before, plan)
    ]
    for key in (*plan.new_keys, *other):
        if plan.pipeline[key].external_sink is not None:
            yield plan.pipeline[key]


@contextmanager
def _point_at_name(obj: AnalysedObject) -> Iterator[None]:
    try:
        yield
    except UserError as problem:
        raise problem.with_span(obj.object.statement.name.span) from None


def _writes_else(key: str, before: Mapping[str, AnalysedObject], plan: DeploymentPlan) -> bool:
    old = before[key].external_sink if key in before else None
    new = plan.pipeline[key].external_sink
    return old is not None and new is not None and old.written_columns != new.written_columns


def _check_root(obj: AnalysedObject, root: Path) -> None:
    assert obj.external_sink is not None
    path = obj.external_sink.path
    if root == path or root in path.parents or path in root.parents:
        raise UserError(
            "E0740",
            f"the sink {obj.name} would write into the warehouse {root}",
            hint="choose a folder beside it; CREATE SINK … INTO writes into a table of it",
        )
