"""A source FOR TABLES: several outputs of one statement, in the catalog and in its log."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from floodmark.api import connect
from floodmark.errors import FloodmarkError
from floodmark.session.ddl.deployment import DeploymentPlan, plan_files, plan_statement
from floodmark.session.ddl.desired import read_files
from floodmark.session.show import explain_statement, show
from floodmark.sql import statements as s
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_statement
from floodmark.storage.logs.catalog import CatalogVersion
from floodmark.warehouse.deployed import EMPTY, Deployed, load, statements_of
from tests.warehouses import Site, tables, visible

SHOP = """CREATE SOURCE shop (id BIGINT, item VARCHAR, name VARCHAR)
WITH (connector = 'files', path = 'landing/{table}') FORMAT PLAIN ENCODE JSON
FOR TABLES (
    orders TRANSFORM USING (SELECT id, item FROM orders WHERE orders.id > 0),
    customers (id INT, name VARCHAR, at TIMESTAMP, PRIMARY KEY (id), WATERMARK FOR at AS at)
        TRANSFORM USING (SELECT customers.id, name FROM customers) AS customer_data,
    plain_one,
)"""
NAMED = "CREATE MATERIALIZED VIEW named AS SELECT item FROM orders"


def planned(sql: str, before: Deployed = EMPTY) -> DeploymentPlan:
    statement = parse_statement(sql)
    plan = plan_statement(statement, before)
    assert plan is not None
    return plan


def applied(*statements: str, before: Deployed = EMPTY) -> Deployed:
    for sql in statements:
        before = Deployed(before.version + 1, planned(sql, before).pipeline)
    return before


def restarted(found: Deployed) -> Deployed:
    """Return what another process reads of the log."""
    return load(CatalogVersion(1, 1, tuple(statements_of(found.catalog)), datetime(2024, 1, 1)))


def test_each_table_is_a_source_of_its_own() -> None:
    found = applied(SHOP)
    assert list(found.pipeline.objects) == ["orders", "customer_data", "plain_one"]
    columns = {k: [c.name for c in o.relation.visible] for k, o in found.pipeline.objects.items()}
    assert columns == {
        "orders": ["id", "item"],
        "customer_data": ["id", "name"],
        "plain_one": ["id", "item", "name"],
    }
    paths = [o.object.option("path") for o in found.pipeline.writing_objects]
    assert paths == ["landing/orders", "landing/customers", "landing/plain_one"]
    assert found.pipeline["customer_data"].relation.primary_key == ("id",)
    assert found.pipeline["orders"].relation.primary_key == ()


def test_a_restart_has_the_same_outputs() -> None:
    before = applied(SHOP, NAMED)
    after = restarted(before)
    assert list(after.catalog.objects) == list(before.catalog.objects)
    prints = [{k: o.fingerprint for k, o in d.pipeline.objects.items()} for d in (before, after)]
    assert prints[0] == prints[1]
    dropped = applied("DROP SOURCE plain_one", before=before)
    assert list(restarted(dropped).catalog.objects) == ["orders", "customer_data", "named"]


def test_what_show_create_prints_makes_the_same_output() -> None:
    found = applied(SHOP)
    for name in found.pipeline.objects:
        statement = parse_statement(f"SHOW CREATE SOURCE {name}")
        assert isinstance(statement, s.Show)
        rows = show(statement, found, {}).rows
        alone = applied(rows[0][1]).pipeline[name]
        assert alone.fingerprint == found.pipeline[name].fingerprint


def test_the_list_prints_stably() -> None:
    text = to_sql(parse_statement(SHOP))
    assert to_sql(parse_statement(text)) == text
    assert "customers (id int, " in text


def test_drop_of_the_source_drops_every_output() -> None:
    found = applied(SHOP)
    assert applied("DROP SOURCE shop", before=found).pipeline.objects == {}
    used = applied(NAMED, before=found)
    with pytest.raises(FloodmarkError, match='"shop" is used by named') as raised:
        planned("DROP SOURCE shop", used)
    assert raised.value.code == "E0205"
    gone = [c.key for c in planned("DROP SOURCE shop CASCADE", used).changes]
    assert gone[0] == "named" and len(gone) == 4
    assert list(applied("DROP SOURCE customer_data", before=used).catalog.objects) == [
        "orders", "plain_one", "named",
    ]  # fmt: skip


def test_if_not_exists_knows_the_source() -> None:
    found = applied(SHOP)
    again = parse_statement(SHOP.replace("CREATE SOURCE", "CREATE SOURCE IF NOT EXISTS"))
    assert plan_statement(again, found) is None
    for taken in (SHOP, "CREATE TABLE shop (k INT)", "CREATE TABLE orders (k INT)"):
        with pytest.raises(FloodmarkError) as raised:
            planned(taken, found)
        assert raised.value.code == "E0202"
    assert planned("CREATE SINK shop INTO t AS SELECT id FROM orders",
                   applied("CREATE TABLE t (id BIGINT)", before=found)).changes  # fmt: skip


def test_explain_of_the_statement_shows_every_output() -> None:
    text = str(explain_statement(parse_statement(SHOP), EMPTY))
    assert [line.split()[1] for line in text.splitlines() if line.startswith("Source[")] == [
        "orders", "customer_data", "plain_one",
    ]  # fmt: skip


def test_only_the_outputs_that_mean_something_else_are_rebuilt(tmp_path: Path) -> None:
    def plan(text: str, before: Deployed) -> DeploymentPlan:
        (tmp_path / "a.sql").write_text(text)
        return plan_files(read_files(tmp_path), before)

    first = plan(f"{SHOP};\n{NAMED};", EMPTY)
    before = restarted(Deployed(1, first.pipeline))
    moved = plan(f"-- moved\n{SHOP};\n{NAMED};", before)
    assert moved.changes == ()
    assert (
        plan(f"{SHOP};\n{NAMED};", before).catalog.objects["orders"]
        is (before.catalog.objects["orders"])
    )
    other = plan(f"{SHOP.replace('id > 0', 'id > 1')};\n{NAMED};", before).changes
    assert [(c.key, c.action) for c in other] == [("orders", "rebuild"), ("named", "rebuild")]
    assert "> 1" in (other[0].after or "") and "customers" not in (other[0].after or "")
    fewer = plan(f"{SHOP.replace('    plain_one,', '')};\n{NAMED};", before).changes
    assert [(c.key, c.action) for c in fewer] == [("plain_one", "drop")]


@pytest.mark.parametrize(
    ("changed", "to", "code", "caret"),
    [
        ("plain_one", "orders", "E0234", "orders"),
        ("plain_one", "x AS orders", "E0234", "orders"),
        ("plain_one", "x AS shop", "E0234", "shop"),
        ("FROM orders WHERE orders.id > 0", "FROM customers", "E0236", "customers"),
        ("FROM orders WHERE orders.id > 0", "FROM customer_data", "E0236", "customer_data"),
        ("FROM orders WHERE orders.id > 0", "FROM other", "E0345", "other"),
        ("WHERE orders.id > 0", "WHERE nothing > 0", "E0206", "nothing"),
        ("FOR TABLES", "TRANSFORM USING (SELECT id FROM shop) FOR TABLES", "E0132", "FOR"),
        ("plain_one,", "plain_one (a INT, a INT)", "E0126", "a INT"),
        ("plain_one,", "x__late", "E0128", "x__late"),
    ],
)
def test_what_does_not_fit_together(changed: str, to: str, code: str, caret: str) -> None:
    text = SHOP.replace(changed, to, 1)
    assert text != SHOP
    with pytest.raises(FloodmarkError) as raised:
        planned(text)
    assert raised.value.code == code, raised.value
    assert raised.value.span is not None and raised.value.span.text == caret
    assert raised.value.hint


def test_an_empty_list_and_a_name_that_is_taken() -> None:
    with pytest.raises(FloodmarkError, match="expected a table name") as raised:
        planned("CREATE SOURCE s WITH (connector = 'files') FOR TABLES ()")
    assert raised.value.hint is not None and "FOR TABLES" in raised.value.hint
    with pytest.raises(FloodmarkError, match='"customer_data" exists already') as raised:
        planned(SHOP, applied("CREATE TABLE customer_data (k INT)"))
    assert raised.value.span is not None and raised.value.span.text == "customer_data"
    with pytest.raises(FloodmarkError, match='"shop" exists already, as a table'):
        planned(SHOP, applied("CREATE TABLE shop (k INT)"))


def test_a_function_that_a_query_calls_stays() -> None:
    function = "CREATE FUNCTION f(BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1'"
    found = applied(function, SHOP.replace("orders.id > 0", "f(orders.id) > 0"))
    with pytest.raises(FloodmarkError, match="is used by orders"):
        planned("DROP FUNCTION f", found)


def test_outputs_of_the_same_files_take_the_same_splits(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{"id": 1}\n')
    with connect(tmp_path / "warehouse") as fm:
        fm.execute(
            f"CREATE SOURCE s (id INT) WITH (connector = 'files', path = '{tmp_path}')"
            " FORMAT PLAIN ENCODE JSON"
            " FOR TABLES (a TRANSFORM USING (SELECT id + 1 AS n FROM s), b)"
        )
        offers = fm.warehouse.splits.new_splits(fm.deployed.pipeline)
        assert offers["a"] is offers["b"] and len(offers["a"]) == 1


def test_a_source_with_outputs_runs(site: Site) -> None:
    """The statement of the seed, with files."""
    site.define(
        "CREATE SOURCE pg_source (id INT, item VARCHAR, name VARCHAR, secret VARCHAR)"
        " WITH (connector = 'files', path = '{landing}/{table}') FORMAT PLAIN ENCODE JSON"
        " FOR TABLES ("
        "   orders TRANSFORM USING (SELECT id, item FROM orders),"
        "   customers TRANSFORM USING (SELECT id, name FROM customers) AS customer_data,"
        " );"
        "CREATE MATERIALIZED VIEW both_of AS"
        " SELECT o.item, c.name FROM orders o JOIN customer_data c USING (id);"
    )
    landed = {
        "orders": '{"id": 1, "item": "pen", "secret": "x"}',
        "customers": '{"id": 1, "name": "Ann", "secret": "y"}',
    }
    for table, lines in landed.items():
        (site.landing / table).mkdir(parents=True)
        (site.landing / table / "1.json").write_text(lines + "\n")
    with site.connect() as fm:
        fm.advance()
        assert fm.execute("SELECT * FROM both_of").rows == (("pen", "Ann"),)
        root = fm.root
    assert visible(root, "orders") == [(1, "pen")]
    assert visible(root, "customer_data") == [(1, "Ann")]
    with site.connect() as fm:
        fm.execute("DROP SOURCE pg_source CASCADE")
        assert fm.deployed.pipeline.objects == {}
    assert tables(root) == []
