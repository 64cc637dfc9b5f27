"""WITH (split = true) behind a TRANSFORM USING: which queries need a view, and its statement."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlglot import exp

from floodmark.catalog.objects import catalog_name
from floodmark.catalog.option_table import OptionPlace, specs_of
from floodmark.catalog.references import calls_of, rename, table_name, tables_of
from floodmark.errors import BindError
from floodmark.scalar.functions import AGGREGATES, SETS, SYNONYMS
from floodmark.sql import statements as s
from floodmark.sql.nodes import ChangelogOf, WindowTable

STORED = "__stored"
"""What a split source is called, behind the name of the view over it."""
_SPLIT = "split"
_HINT = "WITH (split = true) makes a view of what looks at several rows, with its options"
_MORE = (
    exp.Join, exp.Group, exp.Having, exp.Distinct, exp.Limit, exp.Offset, exp.Fetch, exp.Order,
    exp.SetOperation, exp.Values, exp.Window, exp.WithinGroup, exp.Lateral, exp.Exists,
    WindowTable, ChangelogOf,
)  # fmt: skip
"""What looks at more than one row, or may."""


def is_split(transform: s.Transform) -> bool:
    """Tell whether a TRANSFORM USING may be split; E0239 for options that it does not have."""
    given = {option.name.lower(): option for option in transform.options}
    specs = specs_of(OptionPlace.TRANSFORM)
    if _SPLIT in given and specs[_SPLIT].check(given[_SPLIT], "E0239", _HINT):
        return True
    for name, option in given.items():
        if name not in specs:
            what = f"a TRANSFORM USING that is not split has no option {option.name}"
            raise BindError("E0239", what, span=option.span, hint=_HINT)
    return False


def parts_of(
    source: s.CreateSource, sets: Collection[str]
) -> tuple[s.CreateSource | s.CreateMaterializedView, ...]:
    """Return the statements of a source: itself, or what it stores and the view over that.

    `sets` are functions of users that take or give several rows.
    """
    transform = next(iter(source.transforms), None)
    if transform is None or transform.query is None:
        return (source,)
    if not is_split(transform):
        return (source,)
    if _is_row_by_row(transform.query, sets):
        return (replace(source, transforms=(replace(transform, options=()),)),)
    stored = replace(source.name, name=source.name.name + STORED)
    query = transform.query.copy()
    for table in tables_of(query):
        if table_name(table) == catalog_name(source.name):
            rename(table, stored)
    view = s.CreateMaterializedView(
        name=source.name,
        query=query,
        options=tuple(o for o in transform.options if o.name.lower() != _SPLIT),
        span=source.span,
    )
    intake = replace(source, name=stored, transforms=(replace(transform, query=query),))
    return intake, view


def _is_row_by_row(query: exp.Expression, sets: Collection[str]) -> bool:
    """Tell whether a query is a map, filter and projection of one relation, for all one can see."""
    if any(True for _ in query.find_all(*_MORE)):
        return False
    if any(name in AGGREGATES or name in SYNONYMS or name in SETS for name in calls_of(query)):
        return False
    if any(name in sets for name in calls_of(query)):
        return False
    nested = query.find_all(exp.Subquery)
    named = query.find_all(exp.Table)
    in_from = all(isinstance(inner.parent, exp.From | exp.Subquery) for inner in nested)
    return in_from and all(isinstance(table.this, exp.Identifier) for table in named)
