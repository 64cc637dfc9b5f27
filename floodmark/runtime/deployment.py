"""What is deployed: the catalog of a version, analysed, and what an apply would change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from floodmark.analysis.ndu import DeterminismMode, with_default
from floodmark.analysis.ndu.mode import OPTION
from floodmark.analysis.pinned import pins_of
from floodmark.analysis.pipeline import AnalysedObject, Pipeline, analyse_catalog
from floodmark.catalog.alterations import altered
from floodmark.catalog.catalog import Catalog, unknown_object
from floodmark.catalog.objects import CatalogObject, Kind, Origin, key_of, kind_of, qualified
from floodmark.errors import NotSupported, Span, UserError
from floodmark.plan.user_functions import check, functions_of
from floodmark.runtime.definition_changes import Change, begun_anew, changes_between
from floodmark.runtime.offers import connector_of
from floodmark.runtime.settings import DEFAULTS, mode_named
from floodmark.sql import statements as s
from floodmark.sql.files import read_sql
from floodmark.sql.parse import parse_script, parse_statement
from floodmark.storage.catalog_log import AppliedStatement, CatalogVersion
from floodmark.storage.delta_types import delta_schema

Pins = Mapping[str, str]
"""By signature, what tells the meaning of a function from another one."""


@dataclass(frozen=True)
class Deployed:
    """A catalog version in force; version 0 is the empty catalog of a new warehouse.

    `pinned` has, by key, what the functions meant with which sources make their rows; `corrected`,
    up to which number the corrections of a view are in its rows.
    """

    version: int
    pipeline: Pipeline
    pinned: Mapping[str, Pins] = field(default_factory=dict)
    corrected: Mapping[str, int] = field(default_factory=dict)

    @property
    def catalog(self) -> Catalog:
        """Return the catalog."""
        return self.pipeline.catalog

    def changed_functions(self, key: str) -> tuple[str, ...]:
        """Return the functions of a source that mean something else than its definition pins."""
        pins = self.pinned.get(key)
        present = None if pins is None else pins_of(self.pipeline[key], self.pipeline)
        if pins is None or present is None:
            return ()
        return tuple(sorted({name for name, _ in pins.items() ^ present.items()}))

    @property
    def to_rebase(self) -> dict[str, tuple[str, ...]]:
        """Return the sources of which functions mean something else, with these."""
        found = {key: self.changed_functions(key) for key in self.pinned}
        return {key: names for key, names in found.items() if names}

    def find(self, name: str, span: Span | None = None) -> AnalysedObject:
        """Return an object by name: a relation, else a sink of that name; E0201 for neither."""
        found = self.known(name)
        if found is None:
            raise unknown_object(name, self.pipeline.objects, span)
        return found

    def known(self, name: str) -> AnalysedObject | None:
        """Return an object by name, as it stands or folded to small letters as in SQL."""
        objects = self.pipeline.objects
        for spelt in (name, name.lower()):
            found = objects.get(spelt) or objects.get(key_of(spelt, Kind.SINK))
            if found is not None:
                return found
        return None


EMPTY = Deployed(0, Pipeline(Catalog()))


def load(version: CatalogVersion, known: Deployed | None = None) -> Deployed:
    """Return a logged catalog version; definitions that `known` has are not analysed again."""
    have: Mapping[str, CatalogObject] = {} if known is None else known.catalog.objects
    catalog = Catalog()
    for applied in version.statements:
        before = have.get(applied.object or "")
        if before is not None and _applied(before) == applied:
            catalog = Catalog({**catalog.objects, before.key: before})
            continue
        statement = parse_statement(
            applied.sql, applied.file, line=applied.line, column=applied.column
        )
        assert isinstance(statement, s.Definition)
        catalog = catalog.restore(statement, Origin(applied.origin), applied.object, applied.filed)
    pipeline = analyse_catalog(catalog, known.pipeline if known is not None else None)
    pinned = {
        a.object: a.functions
        for a in version.statements
        if a.object is not None and a.functions is not None
    }
    corrected = {a.object: a.corrected for a in version.statements if a.object and a.corrected}
    return Deployed(version.version, pipeline, pinned, corrected)


def statements_of(
    catalog: Catalog,
    pinned: Mapping[str, Pins] | None = None,
    corrected: Mapping[str, int] | None = None,
) -> list[AppliedStatement]:
    """Return a catalog as the statements that define it, in the order of creation."""
    pins, done = pinned or {}, corrected or {}
    return [
        replace(_applied(o), functions=pins.get(o.key), corrected=done.get(o.key, 0))
        for o in catalog.objects.values()
    ]


def _applied(found: CatalogObject) -> AppliedStatement:
    place = found.span
    return AppliedStatement(
        found.sql,
        place.file,
        found.origin.value,
        found.key,
        place.line,
        place.column,
        filed=found.filed,
    )


def _as_filed(found: CatalogObject) -> AppliedStatement:
    """Return an object as its file defines it, whatever statements have made of it since."""
    applied = _applied(found)
    return applied if found.filed is None else replace(applied, sql=found.filed, filed=None)


@dataclass(frozen=True)
class Desired:
    """What the pipeline files define, and the SET statements among them."""

    definitions: tuple[s.Definition, ...]
    settings: tuple[s.SetOption, ...] = ()


def read_files(folder: Path) -> Desired:
    """Parse `*.sql` of a folder in file-name order; they may hold CREATE and SET only (E0360).

    `SET determinism` holds for the definitions after it.
    """
    definitions: list[s.Definition] = []
    settings: list[s.SetOption] = []
    mode = DeterminismMode.STRICT
    for path in sorted(folder.glob("*.sql")):
        for statement in parse_script(read_sql(path), str(path)):
            if isinstance(statement, s.Definition):
                definitions.append(with_default(statement, mode))
            elif isinstance(statement, s.SetOption):
                settings.append(statement)
                if statement.name.lower() == OPTION:
                    mode = mode_named(statement.value or DEFAULTS[OPTION], statement.span)
            else:
                raise out_of_place(statement)
    return Desired(tuple(definitions), tuple(settings))


def out_of_place(statement: s.Statement) -> NotSupported:
    """Return the error for a statement that is neither CREATE nor SET in a pipeline file."""
    return NotSupported(
        "E0360",
        "pipeline files hold CREATE and SET only",
        span=statement.span,
        hint="run this statement with `floodmark sql`",
    )


@dataclass(frozen=True)
class Plan:
    """What an apply does, as data: the new catalog and the list of changes, in order.

    With `corrected`, views take in their corrections up to a number.
    """

    catalog: Catalog
    pipeline: Pipeline
    changes: tuple[Change, ...]
    corrected: Mapping[str, int] = field(default_factory=dict)

    @property
    def created(self) -> frozenset[str]:
        """Return the keys of the objects that are filled anew."""
        return begun_anew(self.changes)

    def corrections(self, deployed: Deployed) -> dict[str, int]:
        """Return which corrections are in the rows of views once the plan is applied."""
        objects, created = self.pipeline.objects, self.created
        before = deployed.corrected.items()
        kept = {key: done for key, done in before if key in objects and key not in created}
        return {**kept, **self.corrected}

    def pinned(self, deployed: Deployed) -> dict[str, Pins]:
        """Return what is pinned once the plan is applied: the present meaning for what is new."""
        before, suspended = deployed.pinned, [c.key for c in self.changes if c.action == "suspend"]
        former = {k: pins_of(deployed.pipeline[k], deployed.pipeline) for k in suspended}
        present = {k: pins_of(self.pipeline[k], self.pipeline) for k in self.created}
        pins = {
            **former,
            **{k: p for k, p in before.items() if k in self.pipeline.objects},
            **present,
        }
        return {key: found for key, found in pins.items() if found is not None}


def defines_else(plan: Plan, deployed: Deployed) -> bool:
    """Tell whether a plan's definitions are not the deployed ones, functions and indexes too."""
    now, then = (c.objects for c in (plan.catalog, deployed.catalog))
    return {k: o.sql for k, o in now.items()} != {k: o.sql for k, o in then.items()}


def plan_files(desired: Desired, deployed: Deployed) -> Plan:
    """Compare the pipeline files with what is deployed.

    Objects that a statement created are kept; a file object that the files no longer have goes.
    """
    catalog = Catalog(
        {k: o for k, o in deployed.catalog.objects.items() if o.origin is Origin.STATEMENT}
    )
    catalog = _with_definitions(desired.definitions, deployed, catalog)
    return _planned(catalog, deployed)


def _planned(catalog: Catalog, deployed: Deployed, *, runs: bool = True) -> Plan:
    """Return what a catalog changes; what cannot be stored or read is refused here."""
    pipeline = analyse_catalog(catalog, deployed.pipeline, runs=runs)
    plan = Plan(catalog, pipeline, tuple(changes_between(deployed.pipeline, pipeline)))
    created = plan.created
    for found in pipeline.stored:
        if found.key in created:
            check_outside(found)
    return plan


def check_outside(found: AnalysedObject) -> None:
    """Refuse columns that Delta cannot hold, and options with which no connector can be made."""
    try:
        delta_schema(found.relation.columns)
        if found.declared is not None and found.declared.connector is not None:
            connector_of(found)
    except UserError as problem:
        raise problem.with_span(found.object.statement.name.span) from None


def _with_definitions(
    definitions: Iterable[s.Definition], deployed: Deployed, statements: Catalog
) -> Catalog:
    """Return the file objects in file order, then those that statements added to them."""
    catalog = Catalog()
    for statement in definitions:
        created = catalog.create(statement, Origin.FILE)
        for key in created.objects.keys() - catalog.objects.keys():
            same = deployed.catalog.objects.get(key)
            if same is not None and _as_filed(same) == _applied(created.objects[key]):
                created = created.replace([same])
        catalog = _checked(created, statement)
    for key, found in statements.objects.items():
        if key not in catalog.objects:
            catalog = Catalog({**catalog.objects, key: found})
    return catalog


def begun_between(before: Deployed, after: Deployed) -> frozenset[str]:
    """Return the objects that one catalog version after another begins anew."""
    done = after.corrected.items()
    corrected = {key for key, number in done if number > before.corrected.get(key, 0)}
    return begun_anew(changes_between(before.pipeline, after.pipeline, corrected))


def plan_corrected(key: str, number: int, deployed: Deployed) -> Plan:
    """Return what taking the corrections of a view into its rows changes: what reads them, too."""
    pipeline = deployed.pipeline
    changes = changes_between(pipeline, pipeline, {key})
    return Plan(deployed.catalog, pipeline, tuple(changes), {key: number})


def plan_statement(statement: s.Statement, deployed: Deployed, *, runs: bool = True) -> Plan | None:
    """Return what a CREATE or DROP changes; None for IF [NOT] EXISTS that has nothing to do.

    Without `runs`, what the engine cannot run yet is planned all the same: to explain it.
    """
    match statement:
        case s.Drop():
            catalog, gone = deployed.catalog.drop(statement)
            if not gone:
                return None
        case s.Definition():
            catalog = _created(statement, deployed.catalog)
            if catalog is deployed.catalog:
                return None
        case s.Alter():
            catalog = altered(statement, deployed.catalog)
        case _:
            raise AssertionError(statement)
    return _planned(catalog, deployed, runs=runs)


def _created(statement: s.Definition, catalog: Catalog) -> Catalog:
    if statement.if_not_exists and catalog.has(statement):
        return catalog
    return _checked(catalog.create(statement, Origin.STATEMENT), statement)


def _checked(catalog: Catalog, statement: s.Definition) -> Catalog:
    """Return the catalog if a new object holds; a function must be there to be called."""
    if kind_of(statement) is Kind.FUNCTION:
        functions = functions_of(catalog.objects.values())
        name = qualified(statement.name)
        check(functions[name], {n: f for n, f in functions.items() if n != name})
    return catalog
