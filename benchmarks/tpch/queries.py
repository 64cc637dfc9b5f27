"""The texts of the queries and of the tables that they read."""

from __future__ import annotations

import re
from pathlib import Path

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.errors import FloodmarkError
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script
from floodmark.stream.objects.analysed import Pipeline
from floodmark.stream.objects.pipeline import analyse_catalog

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
NAMES = tuple(f"q{number}" for number in range(1, 23))
_FOLDER = Path(__file__).parent
_HEAD = re.compile(r"CREATE MATERIALIZED VIEW \w+ AS\s+")


def definition(name: str) -> str:
    """Return a query as a statement that creates its view."""
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")


def query(name: str) -> str:
    """Return a query alone.

    >>> query("q6").split("\\n")[0]
    'SELECT sum(l_extendedprice * l_discount) AS revenue'
    """
    return _HEAD.split(definition(name))[-1].strip().rstrip(";")


def schema(lake: Path) -> str:
    """Return the statements that create the tables over a folder of Delta tables."""
    text = (_FOLDER / "schema.sql").read_text(encoding="utf-8")
    return re.sub(r"path = '(\w+)'", lambda found: f"path = '{lake / found[1]}'", text)


def analysed(*definitions: str) -> Pipeline:
    """Return the pipeline of views over all tables; raises what would refuse them."""
    catalog = Catalog()
    for statement in parse_script("\n".join((schema(_FOLDER), *definitions))):
        assert isinstance(statement, s.Definition)
        catalog = catalog.create(statement, Origin.FILE)
    return analyse_catalog(catalog)


def refusal(text: str) -> str | None:
    """Return the code and message with which a view is refused, None where it is not.

    >>> refusal("CREATE MATERIALIZED VIEW v AS SELECT r_size FROM region;")[:5]
    'E0206'
    """
    try:
        analysed(text)
    except FloodmarkError as error:
        return f"{error.code}: {error.message}"
    return None
