"""What is deployed: the catalog of a version, analysed, and what an apply would change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from floodmark.analysis.ndu import DeterminismMode, with_default
from floodmark.analysis.ndu.mode import OPTION
from floodmark.analysis.pinned import pins_of
from floodmark.analysis.pipeline import AnalysedObject, Pipeline, analyse_catalog
from floodmark.analysis.replacement import check_difference
from floodmark.analysis.table_of_query import is_continuous, sink_as, table_as
from floodmark.catalog.catalog import WITHDRAWN, Catalog, unknown_object
from floodmark.catalog.objects import (
    FUNCTION_PREFIX,
    CatalogObject,
    Kind,
    Origin,
    key_of,
    kind_of,
    qualified,
)
from floodmark.catalog.renames import filed_names, free_names, renamed, rewritten
from floodmark.errors import NotSupported, Span, UserError
from floodmark.plan.user_functions import check, functions_of
from floodmark.runtime.altering import catalog_after, keeping_columns, refuse_loss
from floodmark.runtime.definition_changes import (
    Change,
    begun_anew,
    changes_between,
    replaced,
)
from floodmark.runtime.filed import applied_as, deployed_as, known_of
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
    up to which number the corrections of a view are in its rows. What differs from the version
    before is no more than the names of `renamed` objects, if there are any: new keys by old ones.
    """

    version: int
    pipeline: Pipeline
    pinned: Mapping[str, Pins] = field(default_factory=dict)
    corrected: Mapping[str, int] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)

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
    # What was altered may call functions that came after it.
    for applied in sorted(version.statements, key=_is_not_a_function):
        before = have.get(applied.object or "")
        if before is not None and applied_as(before) == applied:
            catalog = catalog.replace([before])
            continue
        statement = parse_statement(
            applied.sql, applied.file, line=applied.line, column=applied.column
        )
        assert isinstance(statement, s.Definition)
        origin = Origin(applied.origin)
        catalog = catalog.restore(statement, origin, applied.object, **known_of(applied))
    made = catalog.objects
    order = {a.object: i for i, a in enumerate(version.statements)}
    catalog = Catalog({key: made[key] for key in sorted(made, key=lambda key: order.get(key, 0))})
    pipeline = analyse_catalog(catalog, known.pipeline if known is not None else None)
    pinned = {
        a.object: a.functions
        for a in version.statements
        if a.object is not None and a.functions is not None
    }
    corrected = {a.object: a.corrected for a in version.statements if a.object and a.corrected}
    return Deployed(version.version, pipeline, pinned, corrected, version.renamed)


def statements_of(
    catalog: Catalog,
    pinned: Mapping[str, Pins] | None = None,
    corrected: Mapping[str, int] | None = None,
) -> list[AppliedStatement]:
    """Return a catalog as the statements that define it, in the order of creation."""
    pins, done = pinned or {}, corrected or {}
    return [
        replace(applied_as(o), functions=pins.get(o.key), corrected=done.get(o.key, 0))
        for o in catalog.objects.values()
    ]


def _is_not_a_function(applied: AppliedStatement) -> bool:
    return not (applied.object or "").startswith(FUNCTION_PREFIX)


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
                raise NotSupported(
                    "E0360",
                    "pipeline files hold CREATE and SET only",
                    span=statement.span,
                    hint="run this statement with `floodmark sql`",
                )
    return Desired(tuple(definitions), tuple(settings))


@dataclass(frozen=True)
class Plan:
    """What an apply does, as data: the new catalog and the list of changes, in order.

    With `corrected`, views take in their corrections up to a number. One with `renamed` objects,
    new keys by the former ones, changes nothing else.
    """

    catalog: Catalog
    pipeline: Pipeline
    changes: tuple[Change, ...]
    corrected: Mapping[str, int] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def created(self) -> frozenset[str]:
        """Return the keys of the objects that are filled anew."""
        return begun_anew(self.changes)

    def corrections(self, deployed: Deployed) -> dict[str, int]:
        """Return which corrections are in the rows of views once the plan is applied."""
        objects, created = self.pipeline.objects, self.created
        before = [(self.renamed.get(k, k), done) for k, done in deployed.corrected.items()]
        kept = {key: done for key, done in before if key in objects and key not in created}
        return {**kept, **self.corrected}

    def pinned(self, deployed: Deployed) -> dict[str, Pins]:
        """Return what is pinned once the plan is applied: the present meaning for what is new."""
        before = {self.renamed.get(k, k): pins for k, pins in deployed.pinned.items()}
        suspended = [c.key for c in self.changes if c.action == "suspend"]
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
    said, before = ({k: (o.sql, o.filed, o.filed_as) for k, o in c.items()} for c in (now, then))
    return said != before


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
    catalog = free_names(catalog, deployed.catalog)
    pipeline = analyse_catalog(catalog, deployed.pipeline, runs=runs)
    plan = Plan(catalog, pipeline, tuple(changes_between(deployed.pipeline, pipeline)))
    for key in replaced(plan.changes):
        found = pipeline[key]
        if found.object.target is not None:
            check_difference(found, pipeline[found.object.target])
    created = plan.created
    for found in pipeline.stored:
        if found.key in created:
            _check_outside(found)
    return plan


def _check_outside(found: AnalysedObject) -> None:
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
    """Return the file objects in file order, then those that statements added to them.

    Objects that have been renamed may still have their former names in the files.
    """
    definitions, catalog = tuple(definitions), Catalog()
    names = filed_names(definitions, deployed.catalog)
    for written in definitions:
        if isinstance(written, s.CreateTableAs) and not is_continuous(written):
            raise NotSupported(
                "E0848",
                "files say what is there: a table that is filled once is a statement's",
                span=written.name.span,
                hint="run it with `floodmark sql`, or leave continuous = false out",
            )
        today = (rewritten(written, names) if names.keys else None) or written
        for statement in _definitions(today, catalog, deployed.pipeline):
            created = catalog.create(statement, Origin.FILE)
            fresh = [o for k, o in created.objects.items() if k not in catalog.objects]
            said = None if today is written else written
            same = [deployed_as(made, said, names, deployed.catalog) for made in fresh]
            catalog = _checked(created.replace(same), statement)
    for key, found in statements.objects.items():
        if key not in catalog.objects:
            catalog = Catalog({**catalog.objects, key: found})
    relations = deployed.pipeline.relations
    visible = {key: [f.name for f in r.visible] for key, r in relations.items()}
    return keeping_columns(catalog, deployed.catalog, visible)


def begun_between(before: Deployed, after: Deployed) -> frozenset[str]:
    """Return the objects that one catalog version after another begins anew."""
    if after.renamed:
        return frozenset()
    done = after.corrected.items()
    corrected = {key for key, number in done if number > before.corrected.get(key, 0)}
    return begun_anew(changes_between(before.pipeline, after.pipeline, corrected))


def former_between(before: Deployed, after: Deployed) -> dict[str, AnalysedObject]:
    """Return the former definitions of what goes on with another query, or goes with its rows."""
    if after.renamed:
        return {}
    changes = changes_between(before.pipeline, after.pipeline)
    found = {key: before.pipeline[key] for key in replaced(changes)}
    for table in after.catalog.objects.values():
        known = before.catalog.objects.get(table.key)
        past = table.past[len(known.past) :] if known is not None else ()
        found.update({p[1]: before.pipeline[p[1]] for p in past if p[0] == WITHDRAWN})
    return found


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
            catalog = _created(statement, deployed)
            if catalog is deployed.catalog:
                return None
        case s.AlterRename():
            return _renaming(statement, deployed)
        case s.Alter():
            catalog = catalog_after(statement, deployed.pipeline)
            if catalog is deployed.catalog:
                return None
        case _:
            raise AssertionError(statement)
    plan = _planned(catalog, deployed, runs=runs)
    if isinstance(statement, s.Alter) and not isinstance(statement, s.AlterToTable):
        refuse_loss(statement, plan.changes, plan.pipeline)
    return plan


def _renaming(statement: s.AlterRename, deployed: Deployed) -> Plan | None:
    """Return what a RENAME changes: names, nowhere a row; None for the name that it has."""
    catalog, keys = renamed(statement, deployed.catalog)
    if not keys:
        return None
    pipeline = analyse_catalog(catalog, deployed.pipeline)
    before, after = deployed.catalog.objects, catalog.objects
    changes = [
        Change(new, "rename", f"was {before[old].name}", before[old].text, after[new].text)
        for old, new in keys.items()
    ]
    return Plan(catalog, pipeline, tuple(changes), renamed=keys)


def _created(statement: s.Definition, deployed: Deployed) -> Catalog:
    catalog = deployed.catalog
    if statement.if_not_exists and catalog.has(statement):
        return catalog
    for made in _definitions(statement, catalog, deployed.pipeline):
        catalog = _checked(catalog.create(made, Origin.STATEMENT), made)
    return catalog


def _definitions(
    statement: s.Definition, catalog: Catalog, known: Pipeline
) -> Sequence[s.Definition]:
    """Return what a definition stands for: CREATE TABLE … AS is a table, and a sink into it."""
    if not isinstance(statement, s.CreateTableAs):
        return (statement,)
    table = table_as(statement, analyse_catalog(catalog, known))
    return (table, sink_as(statement)) if is_continuous(statement) else (table,)


def _checked(catalog: Catalog, statement: s.Definition) -> Catalog:
    """Return the catalog if a new object holds; a function must be there to be called."""
    if kind_of(statement) is Kind.FUNCTION:
        functions = functions_of(catalog.objects.values())
        name = qualified(statement.name)
        check(functions[name], {n: f for n, f in functions.items() if n != name})
    return catalog
