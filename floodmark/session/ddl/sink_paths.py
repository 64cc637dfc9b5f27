"""The paths of sinks outside, refused before they begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from floodmark.epochs.sinks.identity import probe
from floodmark.epochs.sinks.sender import sender_of
from floodmark.errors import UserError
from floodmark.session.ddl.deployment import Plan
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.warehouse.warehouse import Warehouse


def check_sink_paths(plan: Plan, warehouse: Warehouse) -> None:
    """Raise where a sink could not write that begins with a plan, or has other columns then.

    E0740 to E0744. Nothing is written: what only a write shows, `probe_sink_paths` shows.
    """
    for found in _beginning(plan, warehouse):
        with _at_its_name(found):
            _check_root(found, Path(warehouse.objects.place))
            sender_of(found, warehouse.seed).check()


def probe_sink_paths(plan: Plan, warehouse: Warehouse) -> None:
    """Raise E0741 where the path of such a sink takes no bytes now, such as on a full disk."""
    for found in _beginning(plan, warehouse):
        assert found.outside is not None
        with _at_its_name(found):
            probe(found.name, found.outside.path)


def _beginning(plan: Plan, warehouse: Warehouse) -> Iterator[AnalysedObject]:
    before = warehouse.deployed().pipeline.objects
    other = [
        c.key for c in plan.changes if c.action == "alter" and _writes_else(c.key, before, plan)
    ]
    for key in (*plan.created, *other):
        if plan.pipeline[key].outside is not None:
            yield plan.pipeline[key]


@contextmanager
def _at_its_name(found: AnalysedObject) -> Iterator[None]:
    try:
        yield
    except UserError as problem:
        raise problem.with_span(found.object.statement.name.span) from None


def _writes_else(key: str, before: Mapping[str, AnalysedObject], plan: Plan) -> bool:
    old = before[key].outside if key in before else None
    new = plan.pipeline[key].outside
    return old is not None and new is not None and old.written != new.written


def _check_root(found: AnalysedObject, root: Path) -> None:
    assert found.outside is not None
    path = found.outside.path
    if root == path or root in path.parents or path in root.parents:
        raise UserError(
            "E0740",
            f"the sink {found.name} would write into the warehouse {root}",
            hint="choose a folder beside it; CREATE SINK … INTO writes into a table of it",
        )
