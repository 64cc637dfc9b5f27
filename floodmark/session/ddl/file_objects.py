"""Comparison of deployed objects with the pipeline files, as for a plan of the files."""

from __future__ import annotations

from dataclasses import dataclass, replace

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import CatalogObject
from floodmark.catalog.renames import (
    NewNames,
    current_names,
    follows,
    parse_filed,
    rewrite_names,
)
from floodmark.sql import statements as s
from floodmark.sql.normalise import to_sql
from floodmark.warehouse.deployed import as_applied_statement, as_filed


@dataclass(frozen=True)
class Drift:
    """An object that an ALTER has changed and its file has not: the difference and its place."""

    key: str
    what: str
    file: str | None
    line: int

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}:{self.line}: "
        return f"{place}{self.what}; what is deployed stays until the file says something else"


def drift(catalog: Catalog) -> list[Drift]:
    """Return the objects whose files still have the definition from before an ALTER."""
    out = []
    names = current_names(catalog)
    for obj in catalog.objects.values():
        if obj.filed is None:
            continue
        said = []
        if obj.filed_as is not None:
            said.append(f"{obj.filed_as.rpartition(':')[2]} has been renamed to {obj.name}")
        file = parse_filed(obj)
        said_now = None if file is None else to_sql(rewrite_names(file, names) or file)
        if said_now != to_sql(obj.own_statement):
            said.append(f"{obj.name} has been altered")
        if said:
            out.append(Drift(obj.key, " and ".join(said), obj.span.file, obj.span.line))
    return out


def _alike(one: CatalogObject, other: CatalogObject) -> bool:
    return to_sql(one.own_statement) == to_sql(other.own_statement)


def find_same_object(
    obj: CatalogObject, written: s.Definition | None, names: NewNames, deployed: Catalog
) -> CatalogObject:
    """Return the deployed object for an object of a file, if both have the same definition.

    If the file uses former names, `obj` has the present names, and `written` is the file's text.
    """
    same = deployed.objects.get(obj.key)
    old = next((old for old, new in names.keys.items() if new == obj.key), None)
    text = obj.sql if written is None else written.sql
    if same is not None and as_filed(same) == replace(
        as_applied_statement(obj), sql=text, object=old or obj.key
    ):
        return same
    if same is not None and follows(written or obj.statement, same, deployed):
        # The file has caught up with a RENAME; here its readers say the old name, too.
        return replace(same, filed=text, filed_as=None)
    if written is None:
        return obj
    if isinstance(written, s.CreateTableAs) and same is not None and _alike(obj, same):
        return same
    return replace(obj, filed=text, filed_as=old)
