"""The columns of indexes: those of an index that is new are there, others go with their columns."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from sqlglot import exp

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import CatalogObject, Origin, Relation
from floodmark.errors import BindError
from floodmark.sql import statements as s
from floodmark.sql.spans import span_of


def with_indexes(
    catalog: Catalog, deployed: Catalog, relations: Mapping[str, Relation], *, filed: bool
) -> Catalog:
    """Return the catalog without the indexes whose columns have gone.

    E0852 for an index that is created on a column that does not exist. With `filed`, the catalog is
    that of pipeline files: their indexes stay, and one whose column has gone is E0852, too.
    """
    lost = set()
    for index in catalog.objects.values():
        columns = _missing(index, relations)
        if not columns:
            continue
        if index.key not in deployed.objects or (filed and index.origin is Origin.FILE):
            raise _unknown(index, columns[0], relations[index.reads[0]])
        lost.add(index.key)
    return Catalog({k: o for k, o in catalog.objects.items() if k not in lost}) if lost else catalog


def _missing(index: CatalogObject, relations: Mapping[str, Relation]) -> list[exp.Column | str]:
    """Return the columns of an index that its relation does not have."""
    made = index.statement
    if not isinstance(made, s.CreateIndex) or index.reads[0] not in relations:
        return []
    there = {f.name for f in relations[index.reads[0]].columns}
    trees = (*made.keys, *made.distributed_by)
    named = [column for tree in trees for column in tree.find_all(exp.Column)]
    columns = [*named, *made.include]
    return [c for c in columns if (c if isinstance(c, str) else c.name) not in there]


def _unknown(index: CatalogObject, column: exp.Column | str, relation: Relation) -> BindError:
    name = column if isinstance(column, str) else column.name
    names = [f.name for f in relation.visible]
    place = None if isinstance(column, str) else span_of(column, index.span)
    near = get_close_matches(name, names, n=3)
    return BindError(
        "E0852",
        f'"{relation.name}" has no column "{name}" for the index "{index.name}"',
        span=place or index.statement.name.span,
        hint=f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(names)}",
    )
