"""A table with all its feeders, and sinks as edges with assets of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script
from floodmark.stream.objects.pipeline import analyse_catalog
from floodmark_dagster.assets.translator import asset_spec
from tests.dagster.pipeline_skin import Skin, make_materialized, make_skin  # noqa: F401

SQL = """
CREATE SOURCE flown (origin VARCHAR, late INT) WITH (connector = 'files', path = 'flown')
    FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW worst AS SELECT origin, max(late) AS late FROM flown GROUP BY origin;
CREATE TABLE airports (
    origin VARCHAR PRIMARY KEY, name VARCHAR, flights BIGINT, late INT, mean DOUBLE,
    shout VARCHAR AS (upper(name))
) ON CONFLICT DO UPDATE IF NOT NULL
    WITH (connector = 'files', path = 'airports') FORMAT PLAIN ENCODE CSV;
CREATE SINK counted INTO airports (origin, flights) AS
    SELECT origin, count(*) FROM flown GROUP BY origin;
CREATE SINK worst_of INTO airports (origin, late) FROM worst;
CREATE SINK airports INTO airports AS
    SELECT origin, NULL, NULL, NULL, avg(late)::double precision FROM flown GROUP BY origin;
CREATE MATERIALIZED VIEW late_ones AS SELECT origin FROM airports WHERE late > 60;
"""


def specs() -> dict[str, dg.AssetSpec]:
    catalog = Catalog()
    for statement in parse_script(SQL):
        assert isinstance(statement, s.Definition)
        catalog = catalog.create(statement, Origin.FILE)
    pipeline = analyse_catalog(catalog)
    found = (asset_spec(o, pipeline, Path("/warehouse")) for o in pipeline.objects.values())
    return {spec.key.to_user_string(): spec for spec in found}


def deps(spec: dg.AssetSpec) -> set[str]:
    return {d.asset_key.to_user_string() for d in spec.deps}


def test_a_sink_lies_between_what_it_reads_and_its_table() -> None:
    found = specs()
    assert deps(found["airports"]) == {"counted__sink", "worst_of__sink", "airports__sink"}
    assert deps(found["counted__sink"]) == {"flown"}
    assert deps(found["worst_of__sink"]) == {"worst"}
    assert deps(found["airports__sink"]) == {"flown"}
    assert deps(found["late_ones"]) == {"airports"}


def test_a_table_names_its_feeders_in_order() -> None:
    table = specs()["airports"].metadata["feeders"]
    assert isinstance(table, dg.TableMetadataValue)
    rows = [tuple(record.data.values()) for record in table.records]
    assert rows == [
        (1, "connector", "files", "origin, name, flights, late, mean"),
        (2, "sink", "counted", "origin, flights"),
        (3, "sink", "worst_of", "origin, late"),
        (4, "sink", "airports", "origin, name, flights, late, mean"),
        (5, "statements", "INSERT, UPDATE, DELETE", "origin, name, flights, late, mean"),
    ]
    assert specs()["airports"].metadata["on_conflict"] == "DO UPDATE IF NOT NULL"


def test_columns_of_a_table_come_from_the_sinks_that_write_them() -> None:
    lineage = specs()["airports"].metadata["dagster/column_lineage"]
    assert isinstance(lineage, dg.TableColumnLineage)
    origins = {
        column: sorted(d.asset_key.to_user_string() for d in found)
        for column, found in lineage.deps_by_column.items()
    }
    assert origins == {
        "origin": ["airports__sink", "counted__sink", "worst_of__sink"],
        "name": ["airports__sink"], "flights": ["airports__sink", "counted__sink"],
        "late": ["airports__sink", "worst_of__sink"], "mean": ["airports__sink"], "shout": [],
    }  # fmt: skip


def test_a_sink_says_where_it_writes_what() -> None:
    sink = specs()["counted__sink"]
    assert sink.metadata["writes_into"] == dg.MetadataValue.asset(dg.AssetKey(["airports"]))
    assert sink.metadata["writes_columns"] == "origin, flights"
    assert "sink" in sink.kinds
    lineage = sink.metadata["dagster/column_lineage"]
    assert isinstance(lineage, dg.TableColumnLineage) and lineage.deps_by_column["origin"]


READERS = """
CREATE TABLE wide (hour TIMESTAMP PRIMARY KEY, n BIGINT, late BIGINT)
    ON CONFLICT DO UPDATE IF NOT NULL;
CREATE SINK closed INTO wide (hour, n) FROM hours;
CREATE SINK nulls INTO wide (hour, late) AS
    SELECT date_trunc('hour', ts), count(*) FROM readings WHERE v IS NULL GROUP BY 1;
CREATE MATERIALIZED VIEW busiest AS SELECT max(n) AS n FROM hours;
"""


@pytest.mark.spark
def test_what_reads_a_view_with_partitions_runs(
    skin: Skin, materialized: Callable[[dg.ExecuteInProcessResult], set[str]]
) -> None:
    (Path(skin.warehouse.pipelines) / "020_readers.sql").write_text(READERS)
    instance = dg.DagsterInstance.ephemeral()
    skin.land(1, 1)
    skin.land(2, 5)
    first = skin.run(instance)
    assert first.success
    assert {"hours", "wide", "closed__sink", "nulls__sink", "busiest"} <= materialized(first)
    skin.land(3, 8)
    second = skin.run(instance)
    assert second.success and {"wide", "busiest"} <= materialized(second)
    with skin.connect() as fm:
        rows = fm.execute("SELECT extract(hour FROM hour), n, late FROM wide ORDER BY 1").rows
    shown = [tuple(None if v is None else int(v) for v in row) for row in rows]
    assert shown == [(1, 2, None), (2, 1, 1), (5, 2, None), (6, 1, 1), (9, None, 1)]
