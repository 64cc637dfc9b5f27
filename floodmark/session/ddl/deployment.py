"""Plans: the changes of the deployed definitions by an apply or a statement, as data."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from floodmark.catalog.alterations import is_nothing
from floodmark.catalog.catalog import Catalog
from floodmark.catalog.dropping import drop_objects, keeping_past
from floodmark.catalog.indexes import with_indexes
from floodmark.catalog.objects import Origin
from floodmark.catalog.places import resolve_paths
from floodmark.catalog.renames import free_names, rename_object
from floodmark.connectors.registry import check_connector, spec_of
from floodmark.errors import UserError
from floodmark.plan.declare.table_options import check_values
from floodmark.session.ddl.altering import alter_catalog, check_fill_value, refuse_loss
from floodmark.session.ddl.desired import (
    DesiredState,
    catalog_of_files,
    check_new_object,
    definitions_of,
)
from floodmark.sql import statements as s
from floodmark.storage.stores.columns import check_columns
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.external_sink import check_new_sink
from floodmark.stream.objects.owners import keeping_holds
from floodmark.stream.objects.pinned import pins_of
from floodmark.stream.objects.pipeline import analyse_catalog
from floodmark.stream.objects.refusals import refuse_opaque
from floodmark.stream.objects.replacement import check_difference
from floodmark.stream.objects.snapshot import check_began
from floodmark.tables import layout
from floodmark.warehouse.changes import (
    ObjectChange,
    changes_between,
    former_definitions,
    keys_to_refill,
)
from floodmark.warehouse.deployed import Deployed, Pins


@dataclass(frozen=True)
class DeploymentPlan:
    """The plan of an apply or a statement: the new catalog and the list of changes, in order.

    With `corrected`, views apply their corrections up to a number. A plan with `renamed` objects,
    new keys by former ones, has no other changes.
    """

    catalog: Catalog
    pipeline: Pipeline
    changes: tuple[ObjectChange, ...]
    corrected: Mapping[str, int] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def new_keys(self) -> frozenset[str]:
        """Return the keys of the objects that are created or refilled."""
        return keys_to_refill(self.changes)

    def corrections(self, deployed: Deployed) -> dict[str, int]:
        """Return the corrections that views include after the plan is applied."""
        objects, created = self.pipeline.objects, self.new_keys
        before = [(self.renamed.get(k, k), done) for k, done in deployed.corrected.items()]
        kept = {key: done for key, done in before if key in objects and key not in created}
        return {**kept, **self.corrected}

    def pins(self, deployed: Deployed) -> dict[str, Pins]:
        """Return the pinned functions after the plan is applied; new objects pin today's."""
        before = {self.renamed.get(k, k): pins for k, pins in deployed.pinned.items()}
        suspended = [c.key for c in self.changes if c.action == "suspend"]
        previous = {k: pins_of(deployed.pipeline[k], deployed.pipeline) for k in suspended}
        present = {k: pins_of(self.pipeline[k], self.pipeline) for k in self.new_keys}
        pins = {
            **previous,
            **{k: p for k, p in before.items() if k in self.pipeline.objects},
            **present,
        }
        return {key: found for key, found in pins.items() if found is not None}


def defines_else(plan: DeploymentPlan, deployed: Deployed) -> bool:
    """Tell whether a plan changes the definitions, including functions and indexes."""
    now, then = (c.objects for c in (plan.catalog, deployed.catalog))
    said, before = (
        {k: (o.sql, o.filed, o.filed_as, o.resolved) for k, o in c.items()} for c in (now, then)
    )
    return said != before


def plan_files(desired: DesiredState, deployed: Deployed) -> DeploymentPlan:
    """Compare the pipeline files with what is deployed.

    Objects of statements are kept; an object that the files no longer have is dropped.
    """
    catalog = Catalog(
        {k: o for k, o in deployed.catalog.objects.items() if o.origin is Origin.STATEMENT}
    )
    catalog = catalog_of_files(desired.definitions, deployed, catalog)
    return _make_plan(catalog, deployed, filed=True, project=desired.project)


def _make_plan(
    catalog: Catalog, deployed: Deployed, *, filed: bool = False, project: Path | None = None
) -> DeploymentPlan:
    """Return the plan of a catalog's changes; refuse one that cannot be stored or read."""
    if project is not None:
        catalog = resolve_paths(catalog, deployed.catalog, project, filed=filed)
    catalog = free_names(catalog, deployed.catalog)
    owned = (o.key for o in deployed.pipeline.objects.values() if o.owners)
    catalog = keeping_holds(keeping_past(catalog, deployed.catalog), owned)
    pipeline = analyse_catalog(catalog, deployed.pipeline)
    catalog = with_indexes(catalog, deployed.catalog, pipeline.relations, filed=filed)
    pipeline = replace(pipeline, catalog=catalog)
    plan = DeploymentPlan(catalog, pipeline, tuple(changes_between(deployed.pipeline, pipeline)))
    for key, previous in former_definitions(deployed.pipeline, pipeline, plan.changes).items():
        if previous.refused is not None or previous.opaque:
            refuse_opaque(replace(previous, opaque=True), deployed.pipeline.objects)
        obj = pipeline.objects.get(key, previous)
        if obj is not previous and obj.object.target is not None:
            check_difference(obj, previous, pipeline[obj.object.target])
    _check_beginnings(plan, deployed.pipeline)
    changed = {c.key for c in plan.changes if c.action != "suspend"}
    for obj in pipeline.writing_objects:
        if obj.key in changed:
            before = deployed.pipeline.objects.get(obj.key)
            check_definition(obj, before)
            check_fill_value(before, obj, calling=False)
    check_folders(pipeline, changed)
    return plan


def check_folders(pipeline: Pipeline, changed: Collection[str]) -> None:
    """Refuse new objects whose folder another object has (E0461)."""
    folders: dict[str, str] = {}
    for obj in sorted(pipeline.writing_objects, key=lambda obj: obj.key in changed):
        for table in layout.names_of(obj):
            other = folders.setdefault(table, obj.name)
            if other != obj.name:
                raise UserError(
                    "E0461",
                    f"the rows of {obj.name} would lie in the folder of {other}: {table}",
                    span=obj.object.statement.name.span,
                    hint="choose another name, one without dots",
                )


def _check_beginnings(plan: DeploymentPlan, deployed: Pipeline) -> None:
    """Raise E0856 for another `snapshot` of what goes on, or would be emptied."""
    anew = {c.key for c in plan.changes if c.action == "rebuild"}
    for obj in (o.object for o in plan.pipeline.objects.values()):
        before = deployed.objects.get(obj.key)
        if before is not None and not (obj.begins_whole and obj.key in anew):
            check_began(obj, before.object)


def check_definition(obj: AnalysedObject, before: AnalysedObject | None = None) -> None:
    """Raise what refuses an object that is new, or another than `before`, whatever is deployed.

    `plan` and `lint` ask this. Delta has to store the columns, and the options have to make a
    connector. Unchanged parts keep the meaning that they had.
    """
    statement = obj.object.statement
    anew = before is None or before.object.statement != statement
    try:
        check_columns(obj.relation.columns)
        if anew and obj.external_sink is not None and isinstance(statement, s.CreateSink):
            check_new_sink(statement)
        if anew and obj.declared is not None:
            check_values(statement)
        if obj.declared is not None and obj.declared.connector is not None:
            check_connector(spec_of(obj), new=anew)
    except UserError as problem:
        raise problem.with_span(obj.object.statement.name.span) from None


def plan_correction(key: str, number: int, deployed: Deployed) -> DeploymentPlan:
    """Return the plan that applies a view's corrections to its rows and to its readers."""
    pipeline = deployed.pipeline
    changes = changes_between(pipeline, pipeline, {key})
    return DeploymentPlan(deployed.catalog, pipeline, tuple(changes), {key: number})


def plan_statement(
    statement: s.Statement, deployed: Deployed, *, project: Path | None = None
) -> DeploymentPlan | None:
    """Return the plan of a CREATE or DROP; None if IF [NOT] EXISTS leaves nothing to do.

    Relative paths start at the `project`, or else at the working directory.
    """
    if isinstance(statement, s.Alter) and is_nothing(statement, deployed.catalog):
        return None
    match statement:
        case s.Drop():
            catalog, gone = drop_objects(deployed.catalog, statement)
            if not gone:
                return None
        case s.Definition():
            catalog = _create_objects(statement, deployed)
            if catalog is deployed.catalog:
                return None
        case s.AlterRename():
            return _renaming(statement, deployed)
        case s.Alter():
            return _altering(statement, deployed, project)
        case _:
            raise AssertionError(statement)
    return _make_plan(catalog, deployed, project=project)


def _altering(
    statement: s.Alter, deployed: Deployed, project: Path | None
) -> DeploymentPlan | None:
    """Return the plan of an ALTER; None where there is nothing to do."""
    catalog = alter_catalog(statement, deployed.pipeline)
    if catalog is deployed.catalog:
        return None
    plan = _make_plan(catalog, deployed, project=project)
    if not isinstance(statement, s.AlterToTable):
        refuse_loss(statement, plan.changes, plan.pipeline)
    return plan


def _renaming(statement: s.AlterRename, deployed: Deployed) -> DeploymentPlan | None:
    """Return the plan of a RENAME: names change, no rows; None for the name that it has."""
    catalog, keys = rename_object(statement, deployed.catalog)
    if not keys:
        return None
    pipeline = analyse_catalog(catalog, deployed.pipeline)
    before, after = deployed.catalog.objects, catalog.objects
    changes = [
        ObjectChange(new, "rename", f"was {before[old].name}", before[old].text, after[new].text)
        for old, new in keys.items()
    ]
    return DeploymentPlan(catalog, pipeline, tuple(changes), renamed=keys)


def _create_objects(statement: s.Definition, deployed: Deployed) -> Catalog:
    catalog = deployed.catalog
    if statement.if_not_exists and catalog.has(statement):
        return catalog
    for made in definitions_of(statement, catalog, deployed.pipeline):
        catalog = check_new_object(catalog.create(made, Origin.STATEMENT), made)
    return catalog
