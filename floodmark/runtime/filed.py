"""An object as a log and as its file say it: what a plan of the pipeline files compares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import CatalogObject
from floodmark.catalog.renames import Names, follows
from floodmark.sql import statements as s
from floodmark.storage.catalog_log import AppliedStatement


def applied_as(found: CatalogObject) -> AppliedStatement:
    """Return an object as the catalog log has it."""
    place = found.span
    return AppliedStatement(
        found.sql,
        place.file,
        found.origin.value,
        found.key,
        place.line,
        place.column,
        filed=found.filed,
        filed_as=found.filed_as,
        stored=found.stored,
        sees=found.sees,
        past=found.past,
    )


def known_of(applied: AppliedStatement) -> dict[str, Any]:
    """Return what the log knows of an object beside the statement that makes it."""
    return {
        "filed": applied.filed,
        "filed_as": applied.filed_as,
        "stored": applied.stored,
        "sees": applied.sees,
        "past": applied.past,
    }


def as_filed(found: CatalogObject) -> AppliedStatement:
    """Return an object as its file defines it, whatever statements have made of it since."""
    sql, key = found.filed or found.sql, found.filed_as or found.key
    applied = replace(applied_as(found), sql=sql, object=key)
    return replace(applied, filed=None, filed_as=None, stored=None, sees=(), past=())


def deployed_as(
    made: CatalogObject, written: s.Definition | None, names: Names, deployed: Catalog
) -> CatalogObject:
    """Return the deployed object for one of a file, if the file says the same of it.

    Where the file calls something by a former name, `made` goes by those of today, and `written`
    is what the file says.
    """
    same = deployed.objects.get(made.key)
    old = next((old for old, new in names.keys.items() if new == made.key), None)
    text = made.sql if written is None else written.sql
    if same is not None and as_filed(same) == replace(
        applied_as(made), sql=text, object=old or made.key
    ):
        return same
    if same is not None and follows(made.statement, same, deployed):
        # The file has caught up with a RENAME; here its readers say the old name, too.
        return replace(same, filed=made.sql, filed_as=None)
    if written is None:
        return made
    if isinstance(written, s.CreateTableAs) and same is not None and same.sql == made.sql:
        return same
    return replace(made, filed=text, filed_as=old)
