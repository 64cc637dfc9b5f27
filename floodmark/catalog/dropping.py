"""DROP: the catalog without one or several objects."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from floodmark.catalog.catalog import KEPT, WITHDRAWN, Catalog, unknown_object
from floodmark.catalog.objects import (
    CatalogObject,
    ObjectKind,
    catalog_name,
    key_of,
    kind_of_word,
    syntax_kind,
)
from floodmark.catalog.option_table import FORCED, KEEPING
from floodmark.errors import BindError, NotSupported
from floodmark.sql import statements as s


def drop_objects(catalog: Catalog, statement: s.Drop) -> tuple[Catalog, tuple[str, ...]]:
    """Return the catalog without some objects, and the dropped keys, dependents first.

    Raises E0201 for one that is not there, E0203 for one of another kind, E0205 for one in use,
    E0342 where the rows that a sink has written stay, E0146 for a function with other parameters.
    """
    each = [
        (name, _drop_targets(catalog, statement, name))
        for name in (statement.name, *statement.others)
    ]
    for (name, keys_of_name), written in zip_longest(each, statement.takes[: len(each)]):
        if written is not None:
            for key in keys_of_name:
                _check_parameters(catalog.objects[key], written, name)
    keys = {key for _, keys_of_name in each for key in keys_of_name}
    named = tuple(key for key in catalog.objects if key in keys)
    gone = catalog.dependents(*named)
    if gone and not statement.cascade:
        users = ", ".join(_display_name(catalog.objects[k]) for k in gone)
        used = next(
            name for name, keys_of_name in each if {*catalog.dependents(*keys_of_name)} & {*gone}
        )
        raise BindError(
            "E0205",
            f'"{catalog_name(used)}" is used by {users}',
            span=used.span,
            hint="drop those first, or add CASCADE",
        )
    after = catalog
    for key in named if statement.with_rows else ():
        after = _withdraw(after, key, statement)
    kept = {k: o for k, o in after.objects.items() if k not in keys and k not in gone}
    return Catalog(kept), (*reversed(gone), *reversed(named))


def _display_name(obj: CatalogObject) -> str:
    """Return the name; that of a sink may be that of a table, too."""
    return f"the sink {obj.name}" if obj.kind is ObjectKind.SINK else obj.name


def _withdraw(catalog: Catalog, key: str, statement: s.Drop) -> Catalog:
    """Return the catalog in which a dropped sink's rows are removed from its target."""
    sink = catalog.objects[key]
    target = None if sink.target is None else catalog.objects[sink.target]
    reasons = [f"it has {option}" for option in (FORCED, KEEPING) if sink.is_on(option)]
    reasons += [f"it had {said[1]}" for said in sink.past if said[0] == KEPT]
    if not sink.begins_whole:
        reasons.append("it began without a snapshot")
    if target is None:
        reasons.append("they are outside the warehouse")
    elif getattr(target.statement, "append_only", False):
        reasons.append(f'"{target.name}" is append-only')
    if reasons or target is None:
        raise NotSupported(
            "E0342",
            f'the rows that "{sink.name}" has written cannot be deleted: {reasons[0]}',
            span=statement.span,
            hint="DROP SINK without WITH ROWS, and delete the rows with DELETE",
        )
    return catalog.replace([replace(target, past=(*target.past, (WITHDRAWN, key)))])


def keeping_past(catalog: Catalog, deployed: Catalog) -> Catalog:
    """Return the catalog in which objects have the past of the deployed ones.

    A file does not tell it. Sinks know by which options they have kept rows: nothing tells these
    rows from others once the option is gone.
    """
    changed = []
    for key, obj in catalog.objects.items():
        before = deployed.objects.get(key)
        if before is None or obj.kind is not before.kind:
            continue
        past = obj.past or before.past
        kept = obj.kind is ObjectKind.SINK and obj.target == before.target
        gone = [
            (KEPT, o) for o in (FORCED, KEEPING) if kept and before.is_on(o) and not obj.is_on(o)
        ]
        past = (*past, *(said for said in gone if said not in past))
        changed += [replace(obj, past=past)] if past != obj.past else []
    return catalog.replace(changed) if changed else catalog


def _drop_targets(catalog: Catalog, statement: s.Drop, name: s.ObjectName) -> tuple[str, ...]:
    """Return the keys of what a name stands for: all that a source has; none for IF EXISTS."""
    kind, text = kind_of_word(statement), catalog_name(name)
    assert kind is not None
    if kind is ObjectKind.SOURCE and (
        group := catalog.group_of(text) or catalog.output_members(text)
    ):
        return group
    key = key_of(text, kind)
    if key not in catalog.objects:
        if statement.if_exists:
            return ()
        names = [o.name for o in catalog.objects.values() if o.kind is kind]
        raise unknown_object(text, names, name.span, kind.value)
    obj = catalog.objects[key]
    meant = syntax_kind(obj.own_statement)
    if statement.kind is not meant:
        raise BindError(
            "E0203",
            f'"{obj.name}" is a {meant.value.lower()}',
            span=name.span,
            hint=f"DROP {meant.value} {obj.name}",
        )
    return (obj.key,)


def _check_parameters(
    obj: CatalogObject, written: tuple[s.Parameter, ...], name: s.ObjectName
) -> None:
    """Raise E0146 where a DROP names a function by other parameters than it has."""
    declared = obj.statement
    if not isinstance(declared, s.CreateFunction | s.CreateAggregate):
        return
    if [p.type for p in written] != [p.type for p in declared.parameters]:
        types = ", ".join(p.type.text for p in declared.parameters)
        raise BindError(
            "E0146",
            f'"{obj.name}" takes ({types})',
            span=name.span,
            hint=f"DROP {syntax_kind(declared).value} {obj.name}: each name has only one function",
        )
