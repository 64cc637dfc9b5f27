"""What is deployed: the definitions of a catalog version, analysed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from floodmark.catalog.catalog import Catalog, unknown_object
from floodmark.catalog.objects import FUNCTION_PREFIX, CatalogObject, ObjectKind, Origin, key_of
from floodmark.catalog.refused import refused_definition, with_names_of_texts
from floodmark.errors import Span, UserError
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_statement
from floodmark.storage.logs.catalog import AppliedStatement, CatalogVersion, TakenBack
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.pinned import pins_of
from floodmark.stream.objects.pipeline import analyse_catalog
from floodmark.stream.objects.refusals import ObjectTables

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
    takes_back: TakenBack | None = None

    @property
    def catalog(self) -> Catalog:
        """Return the catalog."""
        return self.pipeline.catalog

    def find_function_changes(self, key: str) -> tuple[str, ...]:
        """Return the functions of a source that differ from the ones its definition pins."""
        pins = self.pinned.get(key)
        present = None if pins is None else pins_of(self.pipeline[key], self.pipeline)
        if pins is None or present is None:
            return ()
        return tuple(sorted({name for name, _ in pins.items() ^ present.items()}))

    @property
    def sources_to_rebase(self) -> dict[str, tuple[str, ...]]:
        """Return the sources of which functions mean something else, with these."""
        found = {key: self.find_function_changes(key) for key in self.pinned}
        return {key: names for key, names in found.items() if names}

    def find(self, name: str, span: Span | None = None) -> AnalysedObject:
        """Return an object by name: a relation, else a sink of that name; E0201 for neither."""
        obj = self.get(name)
        if obj is None:
            raise unknown_object(name, self.pipeline.objects, span)
        return obj

    def get(self, name: str) -> AnalysedObject | None:
        """Return an object by name, as it stands or folded to small letters as in SQL."""
        objects = self.pipeline.objects
        for spelt in (name, name.lower()):
            obj = objects.get(spelt) or objects.get(key_of(spelt, ObjectKind.SINK))
            if obj is not None:
                return obj
        return None


EMPTY = Deployed(0, Pipeline(Catalog()))


def load(
    version: CatalogVersion,
    known: Deployed | None = None,
    at_rest: ObjectTables | None = None,
) -> Deployed:
    """Return a logged catalog version; definitions that `known` has are not analysed again.

    With `at_rest` the version has been in force: a definition that is refused now stays, refused.
    """
    have: Mapping[str, CatalogObject] = {} if known is None else known.catalog.objects
    catalog = Catalog()
    # What was altered may call functions that came after it.
    for logged in sorted(version.statements, key=_is_not_a_function):
        before = have.get(logged.object or "")
        if before is not None and as_applied_statement(before) == logged:
            catalog = catalog.replace([before])
            continue
        try:
            catalog = _restore(catalog, _parse(logged), logged)
        except UserError as error:
            if at_rest is None or logged.object is None:
                raise
            place = (logged.file, logged.line, logged.column)
            refused = refused_definition(logged.sql, logged.object, error, *place)
            catalog = _restore(catalog, refused, logged)
    made = catalog.objects
    order = {a.object: i for i, a in enumerate(version.statements)}
    catalog = Catalog({key: made[key] for key in sorted(made, key=lambda key: order.get(key, 0))})
    catalog = with_names_of_texts(catalog)
    known_pipeline = None if known is None else known.pipeline
    pipeline = analyse_catalog(catalog, known_pipeline, at_rest=at_rest)
    pinned = {
        a.object: a.functions
        for a in version.statements
        if a.object is not None and a.functions is not None
    }
    corrected = {a.object: a.corrected for a in version.statements if a.object and a.corrected}
    return Deployed(
        version.version, pipeline, pinned, corrected, version.renamed, version.takes_back
    )


def _parse(logged: AppliedStatement) -> s.Definition:
    statement = parse_statement(logged.sql, logged.file, line=logged.line, column=logged.column)
    assert isinstance(statement, s.Definition)
    return statement


def _restore(catalog: Catalog, statement: s.Definition, logged: AppliedStatement) -> Catalog:
    return catalog.restore(
        statement,
        Origin(logged.origin),
        logged.object,
        filed=logged.filed,
        filed_as=logged.filed_as,
        stored=logged.stored,
        resolved=logged.resolved,
        sees=logged.sees,
        past=logged.past,
    )


def statements_of(
    catalog: Catalog,
    pinned: Mapping[str, Pins] | None = None,
    corrected: Mapping[str, int] | None = None,
) -> list[AppliedStatement]:
    """Return a catalog as the statements that define it, in the order of creation."""
    pins, done = pinned or {}, corrected or {}
    return [
        replace(as_applied_statement(o), functions=pins.get(o.key), corrected=done.get(o.key, 0))
        for o in catalog.objects.values()
    ]


def as_applied_statement(obj: CatalogObject) -> AppliedStatement:
    """Return an object as the catalog log has it."""
    place = obj.span
    return AppliedStatement(
        obj.sql,
        place.file,
        obj.origin.value,
        obj.key,
        place.line,
        place.column,
        filed=obj.filed,
        filed_as=obj.filed_as,
        stored=obj.stored,
        resolved=obj.resolved,
        sees=obj.sees,
        past=obj.past,
    )


def _is_not_a_function(logged: AppliedStatement) -> bool:
    return not (logged.object or "").startswith(FUNCTION_PREFIX)


def as_filed(obj: CatalogObject) -> AppliedStatement:
    """Return an object as its file defines it, whatever statements have made of it since."""
    sql, key = obj.filed or obj.sql, obj.filed_as or obj.key
    as_filed = replace(as_applied_statement(obj), sql=sql, object=key)
    return replace(
        as_filed, filed=None, filed_as=None, stored=None, resolved=None, sees=(), past=()
    )
