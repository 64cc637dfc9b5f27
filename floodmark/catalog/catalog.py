"""The immutable catalog: statements in, a new catalog out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from floodmark.catalog.objects import (
    FUNCTION_PREFIX,
    CatalogObject,
    ObjectKind,
    Origin,
    catalog_name,
    key_of,
    kind_of,
    name_of,
    not_available,
    title_of,
)
from floodmark.catalog.outputs import objects_of
from floodmark.catalog.references import calls_of, relations_of
from floodmark.errors import BindError, NotSupported, Span
from floodmark.sql import statements as s
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_statement

_SYSTEM = ("floodmark.", "information_schema.", "pg_catalog.")
"""What names of the system's relations begin with."""


@dataclass(frozen=True)
class Catalog:
    """All objects by key, in the order of their creation."""

    objects: Mapping[str, CatalogObject] = field(default_factory=dict)

    def __contains__(self, key: str) -> bool:
        return key in self.objects

    def get(self, name: str, span: Span | None = None) -> CatalogObject:
        """Return an object by key; an unknown one is E0201 with the nearest names."""
        obj = self.objects.get(name)
        if obj is None:
            mine = next((k for k in _NAMED if name.startswith(key_of("", k))), None)
            known = [o.key for o in self.objects.values() if mine in (None, o.kind)]
            raise unknown_object(name, known, span, mine.value if mine else "relation")
        return obj

    def create(self, statement: s.Definition, origin: Origin) -> Catalog:
        """Return the catalog with one more object, or those of a source that has several.

        Raises E0202 where the name is taken or one of the system's schemas, E0201 for an unknown
        relation, E0204 for a cycle.
        """
        name = catalog_name(statement.name)
        if name.startswith(_SYSTEM):
            raise BindError(
                "E0202",
                f'"{name}" is the name of a system schema',
                span=statement.name.span,
                hint="choose another schema",
            )
        if self.group_of(key_of(name, kind_of(statement))) and name not in self.objects:
            raise name_conflict(statement, name, "source with outputs")
        catalog = self
        for obj in self.declare(statement, origin):
            catalog = catalog._add(obj)
        return catalog

    def restore(
        self, statement: s.Definition, origin: Origin, key: str | None, **known: Any
    ) -> Catalog:
        """Return the catalog with one object of a statement, with the attributes that are `known`.

        The statement was valid when it was made; objects that it reads may be restored later.
        Raises E0201 where it does not make one of that key any more: a function that it calls is
        another, or not read.
        """
        objects = self.declare(statement, origin)
        one = next((obj for obj in objects if key in (None, obj.key)), None)
        if one is None:
            raise unknown_object(str(key), [o.key for o in objects], statement.name.span, "object")
        return self.replace([replace(one, **known)])

    def alter(self, obj: CatalogObject, statement: s.Definition, *past: tuple[str, ...]) -> Catalog:
        """Return the catalog with another definition of an object, in the same place.

        `past` is what becomes of its rows that the definition does not tell.
        """
        (made,) = self.declare(statement, obj.origin)
        filed = obj.filed or obj.sql if obj.origin is Origin.FILE else None
        made = replace(
            made,
            filed=filed,
            filed_as=obj.filed_as,
            stored=obj.stored,
            sees=obj.sees,
            past=(*obj.past, *past),
            resolved=obj.resolved if made.option("path") == obj.option("path") else None,
        )
        return self.replace([made])._check(made)

    def redefine(self, obj: CatalogObject, statement: s.Definition) -> Catalog:
        """Return the catalog with an equivalent definition of an object."""
        return self.alter(obj, reparse(statement, obj))

    def has(self, statement: s.Definition) -> bool:
        """Tell whether the object that a statement would create, or another of its name, exists."""
        return self.is_taken(key_of(catalog_name(statement.name), kind_of(statement)))

    def is_taken(self, key: str) -> bool:
        """Tell whether an object, or a group of objects, has a key."""
        return key in self.objects or bool(self.group_of(key))

    def objects_of(self, statement: s.Definition) -> tuple[CatalogObject, ...]:
        """Return the objects of one statement, in the order of their creation."""
        key = key_of(catalog_name(statement.name), kind_of(statement))
        return tuple(self.objects[k] for k in self.group_of(key) or (key,))

    def output_of(self, obj: CatalogObject) -> tuple[CatalogObject, ...]:
        """Return the objects of an output, by its last one: itself, and a source split off."""
        if obj.part is None or obj.name != catalog_name(obj.part.output.name):
            return (obj,)
        return tuple(self.objects[key] for key in self.output_members(obj.name))

    def group_of(self, name: str) -> tuple[str, ...]:
        """Return the keys of the objects that a CREATE SOURCE of that name made, if several."""
        return tuple(k for k, o in self.objects.items() if o.part and o.part.group == name)

    @property
    def _sets(self) -> frozenset[str]:
        """Return the names of the users' functions that take or give several rows."""
        made = ((o.name, o.statement) for o in self.objects.values())
        return frozenset(name for name, st in made if _takes_or_gives_rows(st))

    def declare(self, statement: s.Definition, origin: Origin) -> tuple[CatalogObject, ...]:
        """Return the objects of a statement with all that they read."""
        out = []
        for obj in _declare(statement, origin, self._sets):
            calls = (key_of(name, ObjectKind.FUNCTION) for name in function_calls(obj.statement))
            used = tuple(key for key in calls if key in self.objects)
            out.append(replace(obj, reads=(*obj.reads, *used)) if used else obj)
        return tuple(out)

    def output_members(self, name: str) -> tuple[str, ...]:
        """Return the keys of the objects of one output, if that has several."""
        parts = ((k, o.part) for k, o in self.objects.items())
        return tuple(k for k, part in parts if part and catalog_name(part.output.name) == name)

    def replace(self, objects: Iterable[CatalogObject]) -> Catalog:
        """Return the catalog with these objects in place of those of the same key."""
        return Catalog({**self.objects, **{o.key: o for o in objects}})

    def dependents(self, *keys: str) -> tuple[str, ...]:
        """Return the keys of everything else that reads or feeds on objects, nearest first."""
        out: dict[str, None] = {}
        frontier = list(keys)
        while frontier:
            current = frontier.pop(0)
            for other in self.objects.values():
                uses = current in other.reads or other.target == current
                if uses and other.key not in out and other.key not in keys:
                    out.setdefault(other.key)
                    frontier.append(other.key)
        return tuple(out)

    def used_functions(self, reads: Iterable[str]) -> tuple[str, ...]:
        """Return the keys of the functions that are read, and of those that these call."""
        keys: dict[str, None] = {}
        left = [key for key in reads if key.startswith(FUNCTION_PREFIX)]
        while left:
            key = left.pop()
            if key not in keys and key in self.objects:
                keys.setdefault(key)
                left += self.objects[key].reads
        return tuple(keys)

    def feeders(self, table: str) -> tuple[CatalogObject, ...]:
        """Return the sinks that write a table, in the order of their creation."""
        return tuple(o for o in self.objects.values() if o.target == table)

    def order(self) -> tuple[CatalogObject, ...]:
        """Return all objects so that each comes after what flows into it."""
        ranked = {key: i for i, key in enumerate(self.objects)}
        inflow = {key: set(ranked.keys() & o.reads) for key, o in self.objects.items()}
        for obj in self.objects.values():
            if obj.target in inflow:
                inflow[obj.target].add(obj.key)
        sorter = TopologicalSorter(
            {key: sorted(names, key=ranked.__getitem__) for key, names in inflow.items()}
        )
        return tuple(self.objects[key] for key in sorter.static_order())

    def _add(self, obj: CatalogObject) -> Catalog:
        statement = obj.statement
        if obj.key in self.objects:
            raise name_conflict(statement, obj.name, self.objects[obj.key].kind.value)
        group = "" if obj.part is None else obj.part.group
        if group in self.objects and not self.group_of(group):
            raise name_conflict(statement, group, self.objects[group].kind.value)
        return Catalog({**self.objects, obj.key: obj})._check(obj)

    def _check(self, obj: CatalogObject) -> Catalog:
        """Return the catalog if what an object names is there, and nothing feeds itself."""
        statement = obj.statement
        for name in (*obj.reads, *((obj.target,) if obj.target else ())):
            if name not in self.objects and not is_companion(name, self.objects):
                plain = (o.key for o in self.objects.values() if o.kind not in _NAMED)
                known = [key for key in plain if key != obj.key]
                raise unknown_object(name, known, _span_of(statement, name))
        try:
            self.order()
        except CycleError as cycle:
            raise BindError(
                "E0204",
                "the objects would feed each other in a circle: "
                + " -> ".join(map(title_of, cycle.args[1])),
                span=statement.name.span,
                hint="write the sink into a table that none of its inputs reads"
                if isinstance(statement, s.CreateSink)
                else "read something that does not depend on it",
            ) from None
        return self


def name_conflict(statement: s.Definition, name: str, kind: str) -> BindError:
    """Return the error for a name that is taken."""
    replaced = "OR REPLACE does not replace it: DROP it first, or change it in its file"
    free = "choose another name, or use CREATE … IF NOT EXISTS"
    return BindError(
        "E0202",
        f'"{name}" exists already, as a {kind}',
        span=statement.name.span,
        hint=replaced if statement.or_replace else free,
    )


def reparse(statement: s.Definition, obj: CatalogObject) -> s.Definition:
    """Parse the text of a definition again, with the place of the object."""
    place = obj.span
    again = parse_statement(to_sql(statement), place.file, line=place.line, column=place.column)
    assert isinstance(again, s.Definition)
    return again


_NAMED = (ObjectKind.SINK, ObjectKind.FUNCTION)
"""The kinds with name spaces of their own."""
_OUTSIDE_QUERIES = ("into", "table")
"""The fields of definitions that name a relation outside of their queries."""
RENAMED, WITHDRAWN, OWNED, KEPT, AGAIN = "renamed", "withdrawn", "owned", "kept", "again"
"""What is noted in the past of an object. In this order: a column was renamed; a sink took its
rows; sinks owned columns of it; an option made a sink keep rows that its query took back; its query
was given again after its state was refused."""
COMPANIONS = ("__late", "__dead_letter", "__changes", "__corrections")


def is_companion(name: str, objects: Mapping[str, CatalogObject]) -> bool:
    """Tell whether a name is a readable companion of an object, such as `orders__late`."""
    base = next((name.removesuffix(c) for c in COMPANIONS if name.endswith(c)), None)
    return base in objects or name.startswith(_SYSTEM)


def unknown_object(
    name: str, known: Iterable[str], span: Span | None, what: str = "relation"
) -> BindError:
    """Return the error for a name that is not in the catalog, with the nearest ones."""
    names = dict.fromkeys(map(name_of, known))
    names.pop(name_of(name), None)
    near = difflib.get_close_matches(name_of(name), list(names), n=3)
    hint = "did you mean " + ", ".join(near) + "?" if near else "SHOW OBJECTS lists what exists"
    return BindError("E0201", f'{what} "{name_of(name)}" does not exist', span=span, hint=hint)


def _takes_or_gives_rows(statement: s.Definition) -> bool:
    table = isinstance(statement, s.CreateFunction) and bool(statement.returns_table)
    return table or isinstance(statement, s.CreateAggregate)


def _declare(
    statement: s.Definition, origin: Origin, sets: Collection[str]
) -> tuple[CatalogObject, ...]:
    name = catalog_name(statement.name)
    match statement:
        case s.CreateMaterializedView() | s.CreateView():
            reads = relations_of(statement.query)
            return (CatalogObject(name, statement, origin, reads, sql=statement.sql),)
        case s.CreateSink():
            named = {o.name.lower() for o in statement.options}
            if statement.into is None and "connector" not in named:
                raise NotSupported(
                    "E0340",
                    "the sink does not say where it writes to",
                    span=statement.name.span,
                    hint="CREATE SINK … INTO a table, or WITH (connector = 'files', path = '…')",
                )
            reads = relations_of(statement.query)
            target = None if statement.into is None else catalog_name(statement.into)
            return (CatalogObject(name, statement, origin, reads, target, sql=statement.sql),)
        case s.CreateSource():
            return objects_of(statement, origin, sets)
        case s.CreateTable():
            return (CatalogObject(name, statement, origin, sql=statement.sql),)
        case s.CreateIndex():
            reads = (catalog_name(statement.table),)
            return (CatalogObject(name, statement, origin, reads, sql=statement.sql),)
        case s.CreateFunction() | s.CreateAggregate():
            return (CatalogObject(name, statement, origin, sql=statement.sql),)
        case s.RefusedDefinition():
            target = None if statement.into is None else catalog_name(statement.into)
            return (CatalogObject(name, statement, origin, (), target, sql=statement.sql),)
        case _:
            raise not_available(statement)


def function_calls(statement: s.Definition) -> tuple[str, ...]:
    """Return the names of the functions that a definition calls."""
    match statement:
        case s.CreateSource() | s.CreateTable():
            columns = [e for c in statement.columns for e in (c.generated, c.default)]
            queries = (t.query for t in getattr(statement, "transforms", ()))
            return calls_of(*columns, *(w.expression for w in statement.watermarks), *queries)
        case s.CreateFunction(language="sql"):
            # The text may be any: what is called in it is what stands before a parenthesis.
            names = re.findall(r"([a-z_][a-z0-9_]*)\s*\(", statement.body.lower())
            return tuple(dict.fromkeys(names))
        case _:
            return calls_of(getattr(statement, "query", None))


def _span_of(statement: s.Definition, name: str) -> Span | None:
    """Return where a definition names a relation: after INTO or ON, or in a query."""
    from sqlglot import exp

    from floodmark.sql.spans import span_of

    names: list[s.ObjectName | None] = [getattr(statement, f, None) for f in _OUTSIDE_QUERIES]
    named = next((n.span for n in names if n is not None and catalog_name(n) == name), None)
    if named is not None:
        return named
    parts: tuple[s.Transform, ...] = getattr(statement, "transforms", ())
    queries = [getattr(statement, "query", None), *(part.query for part in parts)]
    found = (t for query in queries if query is not None for t in query.find_all(exp.Table))
    tables = (t for t in found if t.name == name.rpartition(".")[2])
    place = next((span_of(t, statement.span) for t in tables), None)
    return place or statement.name.span
