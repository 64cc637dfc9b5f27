"""Corrections taken into the rows of a view: it begins anew with them, and so does what reads it.

That is a version of the catalog and an epoch of its own, as any change of the definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.catalog.objects import ObjectKind
from floodmark.errors import NotSupported
from floodmark.session.ddl import deployment
from floodmark.session.statement_progress import statement_progress
from floodmark.session.statements import apply_plan
from floodmark.storage.logs.epochs import dml_of
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.correction_table import newest

if TYPE_CHECKING:
    from floodmark.api import Floodmark


def check_readers(floodmark: Floodmark, obj: AnalysedObject) -> None:
    """Raise E0305 for the first object fed by a view that cannot take back what it was given."""
    plan = deployment.plan_correction(obj.key, 0, floodmark.deployed)
    positions = floodmark.warehouse.log.positions()
    for change in plan.changes:
        reader = plan.pipeline[change.key]
        if reader.key == obj.key:
            continue
        reason = _refuses(reader)
        if reason is None and positions.get(dml_of(reader.key), {}).get(0, 0):
            reason = "statements wrote rows into it, which would be lost"
        if reason is not None:
            raise NotSupported(
                "E0305",
                f"{obj.name} cannot be corrected in place: {reader.kind.value} {reader.name} "
                f"reads it, and {reason}",
                hint="without --in-place the corrections are beside the view: "
                f"SELECT * FROM {obj.name}__corrections",
            )


def _refuses(reader: AnalysedObject) -> str | None:
    """Say why an object cannot take rows back; None where it can."""
    if reader.emits_on_close:
        return "would have to take back what it has closed"
    if reader.kind is ObjectKind.TABLE and reader.append_only:
        return "only adds rows"
    if reader.kind is ObjectKind.SINK and reader.object.target is None:
        return "what has left the warehouse stays as it is"
    return None


def apply_in_place(floodmark: Floodmark, key: str) -> int:
    """Put the corrections of a view into its rows in one epoch, and return that; 0 for none."""
    loop, warehouse = floodmark.loop, floodmark.warehouse
    what = f"corrections of {key} in place"
    with statement_progress(what, warehouse) as progress, loop.hold(what):
        deployed = warehouse.deployed()
        obj = deployed.pipeline[key]
        number = newest(floodmark.store, obj)
        if number <= deployed.corrected.get(key, 0):
            return 0
        check_readers(floodmark, obj)
        plan = deployment.plan_correction(key, number, deployed)
        return apply_plan(plan, loop, progress).epoch
