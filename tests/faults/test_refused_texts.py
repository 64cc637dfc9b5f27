"""Texts at rest that are not read: what they write and read, as far as their words tell."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from floodmark.catalog.objects import CatalogObject, ObjectKind, Relation
from floodmark.changelog import ChangelogMode
from floodmark.storage.catalog_log import AppliedStatement, CatalogVersion
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.warehouse.deployed import Deployed, load

TABLE = {"t": "CREATE TABLE t (k INT PRIMARY KEY, v INT)"}


class NothingStored:
    """Tables at rest of a warehouse without rows."""

    def relation(self, obj: CatalogObject) -> Relation:
        """Return a relation without columns."""
        return Relation(obj.key, obj.kind, (), (), ChangelogMode.APPEND_ONLY)

    def states_left(self, obj: AnalysedObject) -> tuple[str, ...]:
        """Return no state."""
        return ()


def restored(**defined: str) -> Deployed:
    """Return definitions as they are read from the log of a sealed version."""
    said = {key.replace("__", ":"): sql for key, sql in defined.items()}
    logged = tuple(AppliedStatement(sql, None, "statement", key) for key, sql in said.items())
    version = CatalogVersion(1, 1, logged, datetime(2024, 1, 1, tzinfo=UTC), {})
    return load(version, at_rest=NothingStored())


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("CREATE SINK x INTO t AS SELECT FROM WHERE", "t"),
        ('create sink if not exists x /* all\nof it */ INTO -- here\n "t" FROM BY', "t"),
        ("CREATE SINK x INTO gone AS SELECT FROM WHERE", None),
        ("CREATE SINK x FROM t WITH (path = '/put/into t') BY", None),
        ("CREATE SINK x FROM t /* put into t */ BY", None),
    ],
)
def test_an_unread_sink_writes_the_table_that_it_names(text: str, target: str | None) -> None:
    deployed = restored(**TABLE, sink__x=text)
    obj = deployed.pipeline["sink:x"]
    assert obj.kind is ObjectKind.SINK and obj.refused is not None
    assert obj.object.target == target
    assert deployed.pipeline["t"].feeders == (() if target is None else ("sink:x",))
    assert (obj in deployed.pipeline.writing_objects) == (target is None)
