"""A declared watermark follows its column: it is computed from the column's greatest value."""

from __future__ import annotations

import pytest

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.errors import BindError
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script
from floodmark.stream.objects.analysed import Pipeline
from floodmark.stream.objects.pipeline import analyse_catalog

FUNCTION = """
CREATE FUNCTION sooner(TIMESTAMP) RETURNS TIMESTAMP LANGUAGE python IMMUTABLE AS
$$ def sooner(x): return x $$;
"""


def declared(column: str, expression: str) -> Pipeline:
    """Return a pipeline with one source, which has a watermark on one of its columns."""
    catalog = Catalog()
    source = f"""
        CREATE SOURCE w (id INT, ts TIMESTAMP, other TIMESTAMP,
            WATERMARK FOR {column} AS {expression})
        WITH (connector = 'files', path = 'p') FORMAT PLAIN ENCODE JSON;
    """
    for statement in parse_script(FUNCTION + source, "case.sql"):
        assert isinstance(statement, s.Definition)
        catalog = catalog.create(statement, Origin.FILE)
    return analyse_catalog(catalog)


@pytest.mark.parametrize(
    ("column", "expression"),
    [
        ("ts", "ts"),
        ("ts", "ts - INTERVAL '1 minute' * 5"),
        ("ts", "ts + INTERVAL '-5 minutes'"),
        ("ts", "date_trunc('hour', ts) - INTERVAL '1 day'"),
        ("ts", "(ts::date)::timestamp"),
        ("id", "id - 10"),
    ],
)
def test_what_never_falls_where_the_column_rises_is_one(column: str, expression: str) -> None:
    (source,) = declared(column, expression).writing_objects
    assert source.relation.watermarks == ((column, f"{source.key}.{column}"),)


@pytest.mark.parametrize(
    ("column", "expression"),
    [
        ("ts", "other"),
        ("ts", "ts - INTERVAL '1 minute' * id"),
        ("ts", "ts - random() * INTERVAL '1 minute'"),
        ("ts", "now()::timestamp"),
        ("ts", "ts - INTERVAL '1 month'"),
        ("ts", "sooner(ts)"),
        ("ts", "TIMESTAMP '2020-01-01'"),
        ("id", "-id"),
        ("id", "id % 10"),
    ],
)
def test_anything_else_is_refused(column: str, expression: str) -> None:
    with pytest.raises(BindError) as refused:
        declared(column, expression)
    assert refused.value.code == "E0244"
