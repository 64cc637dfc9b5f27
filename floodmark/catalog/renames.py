"""ALTER … RENAME TO: another name for an object, and the definitions that say the former one.

What a definition means does not change: where a query read `old`, it reads `new AS old`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from sqlglot import exp

from floodmark.catalog.alterations import find_object
from floodmark.catalog.catalog import COMPANIONS, Catalog
from floodmark.catalog.objects import (
    DEFAULT_SCHEMA,
    CatalogObject,
    ObjectKind,
    Origin,
    catalog_name,
    key_of,
)
from floodmark.catalog.references import is_shadowed, rename, table_name, tables_of
from floodmark.catalog.refused import refusal_of_object
from floodmark.errors import BindError, FloodmarkError, NotSupported, Span
from floodmark.sql import statements as s
from floodmark.sql.nodes import ChangelogOf, WindowTable
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_statement

_T = TypeVar("_T")


@dataclass(frozen=True)
class NewNames:
    """New names: of objects by key, and so of the relations that queries name."""

    keys: Mapping[str, str] = field(default_factory=dict)

    def relation(self, name: str) -> str | None:
        """Return the new name of a relation or of one of its companions; None for the same."""
        if name in self.keys:
            return self.keys[name]
        suffix = next((c for c in COMPANIONS if name.endswith(c)), "")
        base = self.keys.get(name.removesuffix(suffix)) if suffix else None
        return None if base is None else base + suffix


def rename_object(statement: s.AlterRename, catalog: Catalog) -> tuple[Catalog, dict[str, str]]:
    """Return the catalog after a RENAME, and the new key by the former one.

    Every object keeps its place. Raises E0201 for an object that is not there, E0202 for a name
    that is taken, E0203 for an object of another kind, E0790 and E0791 for what keeps its name.
    """
    if statement.kind in (s.KindWord.FUNCTION, s.KindWord.AGGREGATE):
        raise NotSupported(
            "E0790",
            "a function cannot be renamed: definitions and other functions call it by its name",
            span=statement.span,
            hint="CREATE FUNCTION with the new name, then DROP the old one",
        )
    group = catalog_name(statement.name)
    if group not in catalog and catalog.is_taken(group):
        raise _one_of_several(f"{group} makes several objects", statement.name.span)
    obj = find_object(statement, catalog)
    if obj.part is not None:
        what = f"{obj.name} is one of the objects that CREATE SOURCE {obj.part.group} makes"
        raise _one_of_several(what, statement.name.span)
    name = replace(obj.statement.name, name=statement.new_name)
    key = key_of(catalog_name(name), obj.kind)
    if key == obj.key:
        return catalog, {}
    if catalog.is_taken(key):
        other = catalog.objects.get(key)
        raise BindError(
            "E0202",
            f'"{catalog_name(name)}" exists already, as a '
            f"{other.kind.value if other is not None else 'source with outputs'}",
            span=statement.span,
            hint="choose another name, or RENAME or DROP that one first",
        )
    names = NewNames({obj.key: key})
    return _with_names(catalog, names), dict(names.keys)


def _one_of_several(what: str, span: Span | None) -> NotSupported:
    return NotSupported(
        "E0791",
        f"{what}: objects of a statement that creates several cannot be renamed",
        span=span,
        hint="DROP the source and create it again; or create a view with the other name",
    )


def _with_names(catalog: Catalog, names: NewNames) -> Catalog:
    out = Catalog()
    for obj in catalog.objects.values():
        unread = isinstance(obj.statement, s.RefusedDefinition)
        if isinstance(obj.statement, s.RefusedDefinition) and names.keys.keys() & obj.reads:
            raise refusal_of_object(obj, obj.statement.refused)
        whole = obj.statement if obj.part is None else _whole(obj)
        again = None if unread else rewrite_names(whole, names)
        key = names.keys.get(obj.key, obj.key)
        seen = tuple((names.relation(k) or k, columns) for k, columns in obj.sees)
        if again is None:
            out = Catalog({**out.objects, key: replace(obj, sees=seen)})
            continue
        if obj.part is not None:
            what = f"{obj.name}, one of those that CREATE SOURCE {obj.part.group} makes, reads it"
            raise _one_of_several(what, obj.span)
        made = catalog.declare(again, obj.origin)[0]
        made = replace(made, sees=seen, past=obj.past, resolved=obj.resolved)
        out = Catalog({**out.objects, key: _carry_over(made, obj)})
    return out


def _whole(obj: CatalogObject) -> s.Definition:
    whole = parse_statement(obj.sql)
    assert isinstance(whole, s.Definition)
    return whole


def _carry_over(made: CatalogObject, obj: CatalogObject) -> CatalogObject:
    """Return an object with the new text and all else that it had."""
    stored = obj.storage_name if obj.storage_name != made.name else None
    if obj.origin is not Origin.FILE:
        return replace(made, stored=stored)
    called = obj.filed_as or obj.key
    filed_as = None if called == made.key else called
    return replace(made, stored=stored, filed=obj.filed or obj.sql, filed_as=filed_as)


def rewrite_names(
    definition: s.Definition, names: NewNames, *, respelled: bool = False
) -> s.Definition | None:
    """Return a definition with new names, parsed again; None where it says none of the old ones.

    A `respelled` definition has no aliases for old names, as a person would write it.
    """
    renaming = _Renaming(names, respelled)
    out = renaming.definition(definition)
    if not renaming.said:
        return None
    span = definition.span
    again = parse_statement(to_sql(out), span.file, line=span.line, column=span.column)
    assert isinstance(again, s.Definition)
    return again


@dataclass
class _Renaming:
    """New names put into one definition; `said` tells whether it says one of the old ones."""

    names: NewNames
    respelled: bool
    said: bool = False

    def definition(self, definition: s.Definition) -> s.Definition:
        """Return the definition with the new names."""
        out: s.Definition = _map_expressions(definition, self._tree)
        own = out.name
        out = replace(out, name=self._name(own, key_of(catalog_name(own), _kind(definition))))
        match out:
            case s.CreateSink():
                into = out.into and self._name(out.into, catalog_name(out.into))
                source = out.from_relation and self._relation(out.from_relation)
                out = replace(out, into=into, from_relation=source)
            case s.CreateIndex():
                before = out.table
                out = replace(out, table=self._name(before, catalog_name(before)))
                out = _requalify_columns(out, before.name, out.table.name)
            case s.CreateTable() | s.CreateSource():
                out = _requalify_columns(out, own.name, out.name.name)
        return out

    def _name(self, name: s.ObjectName, key: str) -> s.ObjectName:
        to = self.names.keys.get(key)
        if to is None:
            return name
        self.said = True
        return replace(name, name=to.rpartition(":")[2].rpartition(".")[2])

    def _relation(self, name: s.ObjectName) -> s.ObjectName:
        to = self.names.relation(catalog_name(name))
        if to is None:
            return name
        self.said = True
        return replace(name, name=to.rpartition(".")[2])

    def _tree(self, tree: exp.Expression) -> exp.Expression:
        out, bases = tree.copy(), dict[str, str]()
        for table in tables_of(out):
            to = self.names.relation(table_name(table))
            if to is not None:
                self.said, alias = True, table.args.get("alias")
                bases[table.name] = to.rpartition(".")[2]
                _rename(table, to)
                if self.respelled:
                    table.set("alias", alias)
        return _without_old(tree, out, bases) if self.respelled else out


def _without_old(
    tree: exp.Expression, out: exp.Expression, bases: Mapping[str, str]
) -> exp.Expression:
    """Return a query whose columns have new names before them; as it was if they may be others'."""
    if any(a.name in {*bases, *bases.values()} for a in tree.find_all(exp.TableAlias)):
        return tree
    for window in out.find_all(WindowTable):
        if (alias := window.args.get("alias")) is not None and alias.name in bases:
            window.set("alias", None)
    for column in out.find_all(exp.Column):
        if column.table in bases:
            column.set("table", exp.Identifier(this=bases[column.table], quoted=False))
    return out


def current_names(deployed: Catalog) -> NewNames:
    """Return the names that objects have, by those that their files give them."""
    objects = deployed.objects.items()
    return NewNames({o.filed_as: key for key, o in objects if o.filed_as is not None})


def follows(file: s.Definition, obj: CatalogObject, deployed: Catalog) -> bool:
    """Tell whether a file still has the definition of a deployed object, with today's names."""
    before = parse_filed(obj)
    if before is None:
        return False
    again = rewrite_names(before, current_names(deployed), respelled=True)
    return again is not None and to_sql(again) == to_sql(file)


def parse_filed(obj: CatalogObject) -> s.Definition | None:
    """Return what the file of an altered object says; None where this version cannot read it."""
    try:
        statement = None if obj.filed is None else parse_statement(obj.filed)
    except FloodmarkError:
        return None
    return statement if isinstance(statement, s.Definition) else None


def rename_part(part: s.Definition, written: s.Definition, names: NewNames) -> s.Definition:
    """Return one of the definitions that a file's stands for under the name that it has today.

    The sink of a CREATE TABLE … AS is named as its table, and may be renamed alone.
    """
    old = key_of(catalog_name(written.name), _kind(part))
    name = names.keys.get(old, old).rpartition(":")[2].rpartition(".")[2]
    if part.name.name == name:
        return part
    again = parse_statement(to_sql(replace(part, name=replace(part.name, name=name))))
    assert isinstance(again, s.Definition)
    return again


def _kinds(definition: s.Definition) -> tuple[ObjectKind, ...]:
    """Return the kinds of the objects that a definition makes, as far as their names go."""
    continuous = isinstance(definition, s.CreateTableAs)
    return (_kind(definition), ObjectKind.SINK) if continuous else (_kind(definition),)


def _kind(definition: s.Definition) -> ObjectKind:
    match definition:
        case s.CreateSink():
            return ObjectKind.SINK
        case s.CreateFunction() | s.CreateAggregate():
            return ObjectKind.FUNCTION
        case _:
            return ObjectKind.TABLE


def _rename(table: exp.Table, name: str) -> None:
    """Let a reference read the relation of a new name, under the name that it had."""
    schema, _, base = name.rpartition(".")
    old, around = table.name, table.parent
    alias = table.args.get("alias")
    rename(table, s.ObjectName(base, schema or None))
    if alias is None and isinstance(around, WindowTable | ChangelogOf):
        # The alias of a window table stands behind it, and a changelog has the CTE's name.
        table.set("alias", None)
        if isinstance(around, WindowTable) and around.args.get("alias") is None:
            around.set("alias", exp.TableAlias(this=exp.Identifier(this=old, quoted=False)))
    if is_shadowed(table):
        table.set("db", exp.Identifier(this=DEFAULT_SCHEMA, quoted=False))


def _requalify_columns(definition: s.Definition, old: str, new: str) -> Any:
    """Return a definition whose expressions say the new name before columns: `t.n` in ON CONFLICT.

    Queries have the old name as an alias.
    """

    def qualify(tree: exp.Expression) -> exp.Expression:
        if old == new or isinstance(tree, exp.Query):
            return tree
        out = tree.copy()
        for column in out.find_all(exp.Column):
            if column.table == old and column.find_ancestor(exp.Query) is None:
                column.set("table", exp.Identifier(this=new, quoted=False))
        return out

    return _map_expressions(definition, qualify)


def _map_expressions(node: _T, change: Callable[[exp.Expression], exp.Expression]) -> _T:
    """Return a part of a statement with every expression in it changed."""
    if isinstance(node, exp.Expression):
        return cast(_T, change(node))
    if isinstance(node, tuple):
        return cast(_T, tuple(_map_expressions(part, change) for part in node))
    if not is_dataclass(node) or isinstance(node, type):
        return node
    parts = {f.name: getattr(node, f.name) for f in fields(node) if f.init}
    again = {name: _map_expressions(part, change) for name, part in parts.items()}
    changed = {name: part for name, part in again.items() if part is not parts[name]}
    return replace(node, **changed) if changed else node


def free_names(catalog: Catalog, deployed: Catalog) -> Catalog:
    """Return the catalog with objects stored where the deployed ones are, or where nobody is.

    The name of a new one may be where another's rows lie that has been renamed.
    """
    objects = dict(catalog.objects)
    for key, obj in objects.items():
        before = deployed.objects.get(key)
        if before is not None and obj.stored is None and before.stored is not None:
            objects[key] = replace(obj, stored=before.stored)
    if not any(o.stored for o in objects.values()):
        return catalog
    used = _used_names(o for k, o in objects.items() if o.stored or k in deployed.objects)
    for key, obj in objects.items():
        if key not in deployed.objects and obj.stored is None:
            number, name = 1, obj.name
            while (name, obj.kind is ObjectKind.SINK) in used:
                number += 1
                name = f"{obj.name}__{number}"
            used.add((name, obj.kind is ObjectKind.SINK))
            objects[key] = obj if number == 1 else replace(obj, stored=name)
    return Catalog(objects)


def _used_names(objects: Iterable[CatalogObject]) -> set[tuple[str, bool]]:
    """Return the names under which rows lie; those of sinks lie apart."""
    return {(o.storage_name, o.kind is ObjectKind.SINK) for o in objects}


def find_file_renames(definitions: Iterable[s.Definition], deployed: Catalog) -> NewNames:
    """Return the new names of objects that their files still call by the former ones.

    One that its file defines under the new name is called so.
    """
    said = {key_of(catalog_name(d.name), kind): d.sql for d in definitions for kind in _kinds(d)}
    out = {}
    for key, obj in deployed.objects.items():
        old = obj.filed_as
        if old is None or old not in said:
            continue
        if said[old] == obj.filed or key not in said:
            out[old] = key
    return NewNames(out)
