"""ALTER MATERIALIZED VIEW … TO TABLE: what becomes of the view's options."""

from __future__ import annotations

import pytest

from floodmark.errors import NotSupported
from floodmark.session.ddl.altering import alter_catalog
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_statement
from tests.program_reference import compile_sql

LOG = "CREATE TABLE log (k INT PRIMARY KEY, v INT) APPEND ONLY;"
VIEW = "CREATE MATERIALIZED VIEW m WITH ({}) AS {};"
KEYED = "SELECT k, v FROM log"


def sink_of(options: str, query: str) -> s.Definition:
    statement = parse_statement("ALTER MATERIALIZED VIEW m TO TABLE")
    assert isinstance(statement, s.Alter)
    pipeline = compile_sql(LOG + VIEW.format(options, query))
    return alter_catalog(statement, pipeline).objects["sink:m"].statement


def test_a_sink_goes_on_with_the_options_of_its_view() -> None:
    assert sink_of("snapshot = false", KEYED).sql.endswith("WITH (snapshot = 'false')")
    both = sink_of("determinism = 'flink', snapshot = true", KEYED).sql
    assert both.endswith("WITH (determinism = 'flink', snapshot = 'true')")


@pytest.mark.parametrize(
    ("options", "query", "code"),
    [
        pytest.param("snapshot = false", "SELECT v FROM log", "E0851", id="hidden key"),
        pytest.param(
            "snapshot = false", "SELECT v, count(*) AS n FROM log GROUP BY v", "E0851", id="counts"
        ),
        pytest.param(
            "snapshot = false", "SELECT v, max(k) AS n FROM log GROUP BY v", "E0851", id="own table"
        ),
        pytest.param("refresh = 'full'", KEYED, "E0849", id="recomputed"),
    ],
)
def test_a_view_whose_options_a_sink_cannot_keep_stays_a_view(
    options: str, query: str, code: str
) -> None:
    with pytest.raises(NotSupported) as refused:
        sink_of(options, query)
    assert refused.value.code == code
