"""Errors of an ALTER of what a file defines are shown in what somebody wrote, without Spark."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from floodmark.errors import FloodmarkError
from floodmark.session.ddl.alter_places import place_errors
from floodmark.session.ddl.deployment import plan_files, plan_statement
from floodmark.session.ddl.desired import read_files
from floodmark.sql.parse import parse_script
from floodmark.storage.logs.catalog import CatalogLog
from floodmark.warehouse.deployed import EMPTY, Deployed, load, statements_of

FILE = """-- a table, and what reads it

CREATE TABLE orders (
    id INT PRIMARY KEY, price INT, at TIMESTAMP
);
CREATE MATERIALIZED VIEW v AS
    SELECT id, price FROM orders WHERE price > 3;
CREATE TABLE totals (id INT PRIMARY KEY, price INT);
CREATE SINK into_totals INTO totals AS SELECT id, price FROM orders;
"""
PLACES = [
    ("ALTER TABLE orders ADD COLUMN c INT DEFAULT nope", "nope"),
    ("ALTER TABLE orders ADD COLUMN c INT DEFAULT 1 / 0", "orders"),
    ("ALTER TABLE orders ADD COLUMN c INT ON CONFLICT DO UPDATE SET nope = 1", "nope = 1"),
    ("ALTER TABLE orders SET (ttl = 'perhaps')", "ttl = 'perhaps'"),
    ("ALTER TABLE orders SET (static=false, ttl=soon)", "ttl=soon"),
    ("ALTER TABLE orders SET (TLL='1 day')", "TLL='1 day'"),
    ("ALTER TABLE orders SET (tll = 1, age = 2)", "tll = 1"),
    ("ALTER TABLE orders ALTER WATERMARK FOR at AS at + 1", "at + 1"),
    ("ALTER MATERIALIZED VIEW v AS SELECT id\nFROM orders WHERE nope > id", "nope"),
    ("ALTER MATERIALIZED VIEW v AS SELECT id FROM nothing", "nothing"),
    ("ALTER MATERIALIZED VIEW v AS SELECT id FROM v", ""),
    ("ALTER SINK into_totals AS SELECT id, at FROM orders", ""),
    ("ALTER SINK into_totals AS SELECT * FROM orders", ""),
]


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    """Return the definitions of the file."""
    root = tmp_path_factory.mktemp("places")
    (root / "made.sql").write_text(FILE)
    plan = plan_files(read_files(root), EMPTY)
    log = CatalogLog(root / "warehouse")
    log.append(1, statements_of(plan.catalog), datetime(2024, 1, 1, tzinfo=UTC))
    version = log.latest()
    assert version is not None
    return load(version, EMPTY)


@pytest.mark.parametrize(("text", "shown"), PLACES)
def test_an_error_is_shown_in_the_statement(deployed: Deployed, text: str, shown: str) -> None:
    script = f"SELECT 1;\n  {text}"
    statement = parse_script(script, "changes.sql")[1]
    with pytest.raises(FloodmarkError) as refused, place_errors(statement, deployed):
        plan_statement(statement, deployed)
    span = refused.value.span
    assert span is not None and (span.file, span.source) == ("changes.sql", script)
    assert span.text == (shown or text)
    assert span.line == (3 if "\n" in text and shown else 2)


def test_an_error_of_the_file_is_shown_there(deployed: Deployed) -> None:
    (statement,) = parse_script("ALTER TABLE orders RENAME COLUMN price TO x")
    place = deployed.catalog.objects["v"].statement.name.span
    with pytest.raises(FloodmarkError) as refused, place_errors(statement, deployed):
        raise FloodmarkError("E0000", "of the view", span=place)
    assert refused.value.span == place
