"""The texts of the queries and of the tables that they read."""

from __future__ import annotations

from pathlib import Path

from benchmarks.sql_files import pipeline_of, query_of, tables_over
from floodmark.errors import FloodmarkError
from floodmark.stream.objects.analysed import Pipeline

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
NAMES = tuple(f"q{number}" for number in range(1, 23))
_FOLDER = Path(__file__).parent


def definition(name: str) -> str:
    """Return a query as a statement that creates its view."""
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")


def query(name: str) -> str:
    """Return a query alone.

    >>> query("q6").split("\\n")[0]
    'SELECT sum(l_extendedprice * l_discount) AS revenue'
    """
    return query_of(definition(name))


def schema(lake: Path) -> str:
    """Return the statements that create the tables over a folder of Delta tables."""
    return tables_over(_FOLDER / "schema.sql", lake)


def analysed(*definitions: str) -> Pipeline:
    """Return the pipeline of views over all tables; raises what would refuse them."""
    return pipeline_of("\n".join((schema(_FOLDER), *definitions)))


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
