"""What is deployed knows its place in the pipeline files, without Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from floodmark.catalog.objects import CatalogObject
from floodmark.errors import UserError
from floodmark.session.ddl.deployment import plan_files
from floodmark.session.ddl.desired import read_files
from floodmark.storage.logs.catalog import CatalogLog
from floodmark.warehouse.deployed import EMPTY, Deployed, load, statements_of

NOW = datetime(2024, 1, 1, tzinfo=UTC)
TABLE = "CREATE TABLE t (k INT PRIMARY KEY);"
VIEW = "  CREATE MATERIALIZED VIEW v AS\n  SELECT k + 1 AS n FROM t;"


def place(found: CatalogObject) -> tuple[str | None, int, int]:
    return found.span.file, found.span.line, found.span.column


def deployed(tmp_path: Path, text: str, known: Deployed = EMPTY) -> Deployed:
    """Apply one file as a warehouse does: through its catalog log."""
    (tmp_path / "a.sql").write_text(text)
    plan = plan_files(read_files(tmp_path), known)
    log = CatalogLog(tmp_path / "warehouse")
    log.append(1, statements_of(plan.catalog), NOW)
    version = CatalogLog(tmp_path / "warehouse").latest()
    assert version is not None
    return load(version, known)


def test_a_deployed_object_has_its_line_in_the_file(tmp_path: Path) -> None:
    found = deployed(tmp_path, f"-- a table\n{TABLE}\n\n-- a view\n{VIEW}\n")
    file = str(tmp_path / "a.sql")
    assert place(found.catalog.objects["t"]) == (file, 2, 1)
    assert place(found.catalog.objects["v"]) == (file, 5, 3)
    assert found.catalog.objects["v"].sql == VIEW.strip().rstrip(";")
    plan = found.pipeline["v"].plan
    assert plan is not None and plan.root.span is not None
    assert (plan.root.span.file, plan.root.span.line) == (file, 6)


def test_a_statement_that_moves_is_no_change_and_knows_its_new_place(tmp_path: Path) -> None:
    before = deployed(tmp_path, f"{TABLE}\n{VIEW}\n")
    (tmp_path / "a.sql").write_text(f"{TABLE}\n-- moved\n\n{VIEW}\n")
    plan = plan_files(read_files(tmp_path), before)
    assert plan.changes == ()
    assert plan.catalog.objects["t"] is before.catalog.objects["t"]
    assert [found.span.line for found in plan.catalog.objects.values()] == [1, 4]
    again = deployed(tmp_path, (tmp_path / "a.sql").read_text(), before)
    assert [found.span.line for found in again.catalog.objects.values()] == [1, 4]


SOURCE = "CREATE SOURCE s (a INT{}) WITH (connector = 'files', path = 'x'{}) FORMAT {} ENCODE {};"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (SOURCE.format("", ", max_rows_per_epoch = 0", "PLAIN", "JSON"), "E0473"),
        (SOURCE.format("", ", \"csv.header\" = 'maybe'", "PLAIN", "CSV"), "E0473"),
        (SOURCE.format(", b INT METADATA FROM 'nothing'", "", "PLAIN", "JSON"), "E0474"),
        (SOURCE.format(", b INT METADATA FROM 'row_number'", "", "PLAIN", "JSON"), "E0484"),
        (SOURCE.format(", PRIMARY KEY (a)", "", "UPSERT", "CSV"), "E0485"),
        ('CREATE TABLE s ("a b" INT);', "E0403"),
    ],
)
def test_a_plan_refuses_what_deploying_would(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "a.sql").write_text(f"{TABLE}\n{text}")
    with pytest.raises(UserError) as refused:
        plan_files(read_files(tmp_path), EMPTY)
    assert refused.value.code == code
    assert refused.value.span is not None
    assert (refused.value.span.text, refused.value.span.line) == ("s", 2)


def test_a_source_is_planned_before_its_folder_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(SOURCE.format("", "", "PLAIN", "JSON"))
    assert [c.key for c in plan_files(read_files(tmp_path), EMPTY).changes] == ["s"]


def test_a_view_over_one_whose_key_has_another_name_is_planned(tmp_path: Path) -> None:
    view = "CREATE MATERIALIZED VIEW {} AS SELECT k % 2 AS {}, count(*) AS n FROM t GROUP BY k % 2;"
    top = "CREATE MATERIALIZED VIEW top AS SELECT max(n) AS n FROM v;"
    before = deployed(tmp_path, TABLE + view.format("v", "odd") + top)
    (tmp_path / "a.sql").write_text(TABLE + view.format("v", "part") + top)
    plan = plan_files(read_files(tmp_path), before)
    assert [(c.action, c.key) for c in plan.changes] == [("rebuild", "v"), ("rebuild", "top")]
