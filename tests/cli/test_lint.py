"""`floodmark lint`: all mistakes and notes of pipeline files, without Spark."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from floodmark.cli.app import app

ROOT = Path(__file__).parents[2]
TABLE = "CREATE TABLE t (k INT PRIMARY KEY, a INT);\n"


def lint(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["lint", str(folder), *options])


def findings(folder: Path, sql: str, *options: str) -> list[str]:
    """Return line:column and code of what is said of one file."""
    (folder / "a.sql").write_text(sql)
    found = lint(folder, "--json", *options)
    assert found.exit_code in (0, 1), found.output
    rows = json.loads(found.stdout)["findings"]
    return [f"{r['line']}:{r['column']} {r['code']}" for r in rows]


def test_all_mistakes_are_told_not_only_the_first(tmp_path: Path) -> None:
    sql = (
        "CREATE TABLE t (k INT PRIMARY KEY,, a INT);\n"
        "CREATE TABLE u (k INT PRIMARY KEY, a INT);\n"
        "CREATE MATERIALIZED VIEW v AS SELECT x FROM u;\n"
        "CREATE MATERIALIZED VIEW w AS SELECT k FROM nothing;\n"
        "INSERT INTO u VALUES (1, 2);\n"
        "CREATE MATERIALIZED VIEW u AS SELECT k FROM u;\n"
        "SET nosuch = 1;\n"
        "CREATE SOURCE s (a INT) WITH (connector = 'nosuch') FORMAT PLAIN ENCODE JSON;\n"
    )
    assert findings(tmp_path, sql) == [
        "1:35 E0101", "3:38 E0206", "4:45 E0201", "5:1 E0360", "6:26 E0202", "7:1 E0381",
        "8:15 E0470",
    ]  # fmt: skip


def test_what_reads_a_definition_that_does_not_hold_is_not_looked_at(tmp_path: Path) -> None:
    sql = (
        "CREATE TABLE t (k INT PRIMARY KEY,, a INT);\n"
        "CREATE MATERIALIZED VIEW v AS SELECT nosuch FROM t;\n"
        "CREATE TABLE u (k INT PRIMARY KEY, b INT);\n"
        "CREATE SINK k INTO u AS SELECT nosuch FROM v;\n"
        "CREATE MATERIALIZED VIEW w AS SELECT nosuch FROM v;\n"
    )
    assert findings(tmp_path, sql) == ["1:35 E0101"]
    unbound = TABLE + sql.split("\n", 1)[1]
    assert findings(tmp_path, unbound) == ["2:38 E0206"]


def test_a_missing_semicolon_hides_no_statement(tmp_path: Path) -> None:
    sql = "CREATE TABLE t (k INT PRIMARY KEY)\nCREATE TABLE u (k INT PRIMARY KEY, b NOTYPE);"
    assert [f.split()[0] for f in findings(tmp_path, sql)] == ["2:1", "2:38"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("CREATE VIEW v AS SELECT k FROM t;", ["2:13 A120"]),
        ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE sql AS 'x + 1';", ["2:17 A120"]),
        ("CREATE MATERIALIZED VIEW v AS SELECT * FROM t;", ["2:38 A121"]),
        ("CREATE MATERIALIZED VIEW v AS SELECT * FROM (SELECT k FROM t);", []),
        ("CREATE MATERIALIZED VIEW v AS SELECT a FROM t;", ["2:26 A122"]),
        ("CREATE MATERIALIZED VIEW v AS SELECT k FROM t ORDER BY k;", ["2:47 A123"]),
        ("CREATE MATERIALIZED VIEW v AS SELECT k FROM t LIMIT 2;", ["2:26 A104", "2:47 A124"]),
        ("CREATE MATERIALIZED VIEW v AS SELECT k, rank() OVER (ORDER BY a) r FROM t;",
         ["2:26 A104"]),
        ("CREATE TABLE u (k INT PRIMARY KEY, b INT);\n"
         "CREATE SINK s INTO u AS SELECT k, a FROM t;", ["3:13 A125"]),
        ("CREATE TABLE u (k INT PRIMARY KEY, b INT);\n"
         "CREATE SINK s INTO u (k, b) AS SELECT k, a FROM t;", []),
    ],
)  # fmt: skip
def test_each_note_at_its_place(tmp_path: Path, sql: str, said: list[str]) -> None:
    assert findings(tmp_path, TABLE + sql) == said


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("-- lint: ignore A104\nCREATE MATERIALIZED VIEW v AS {};", []),
        ("CREATE MATERIALIZED VIEW v AS {}; -- lint: ignore A104", []),
        ("CREATE MATERIALIZED VIEW v AS\n  -- lint: ignore A121, A104\n  {};", ["3:3 A129"]),
        ("CREATE MATERIALIZED VIEW v AS {}; -- lint: ignore", ["2:26 A104", "2:74 A129"]),
        ("CREATE MATERIALIZED VIEW v AS {};\n-- lint: ignore A104\n", ["2:26 A104", "3:1 A129"]),
        ("-- lint: ignore E0201 A104\nCREATE MATERIALIZED VIEW v AS {};", ["2:1 A129"]),
        ("CREATE MATERIALIZED VIEW v AS {} WHERE '-- lint: ignore A104' <> '';", ["2:26 A104"]),
    ],
)
def test_a_comment_silences_notes_of_its_statement(
    tmp_path: Path, sql: str, said: list[str]
) -> None:
    query = "SELECT k, rank() OVER (ORDER BY a) FROM t"
    assert findings(tmp_path, TABLE + sql.format(query)) == said


def test_an_error_is_not_silenced(tmp_path: Path) -> None:
    sql = "CREATE VIEW v AS SELECT x FROM t; -- lint: ignore E0206"
    assert findings(tmp_path, TABLE + sql) == ["2:25 E0206", "2:35 A129"]


def test_exit_codes_and_lines(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(TABLE + "CREATE VIEW v AS SELECT k FROM t;")
    noted = lint(tmp_path)
    assert noted.exit_code == 0 and lint(tmp_path, "--strict").exit_code == 1
    assert noted.stdout == f"{tmp_path}/a.sql:2:13 A120 nothing reads the view v\n"
    assert noted.stderr == "0 errors, 1 note\n"
    (tmp_path / "a.sql").write_text("SELEC 1;")
    assert lint(tmp_path).exit_code == 1
    assert lint(tmp_path / "nothing").exit_code == 1


def test_a_file_is_read_with_the_others_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "1.sql").write_text(TABLE + "CREATE VIEW unread AS SELECT k FROM t;")
    (tmp_path / "2.sql").write_text("CREATE MATERIALIZED VIEW v AS SELECT k, x FROM t;")
    found = lint(tmp_path / "2.sql")
    assert [re.sub(r".*/", "", line)[:16] for line in found.stdout.splitlines()] == [
        "2.sql:1:41 E0206"
    ]


def test_files_that_are_no_text_and_texts_that_are_no_words(tmp_path: Path) -> None:
    (tmp_path / "b.sql").write_bytes("-- é\n".encode("latin-1"))
    assert findings(tmp_path, TABLE + "CREATE VIEW v AS SELECT 'x FROM t;") == [
        "2:25 E0102", "1:4 E0131",
    ]  # fmt: skip


def test_the_shipped_pipeline_has_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint(Path("pipelines")).exit_code == 0


def test_neither_spark_nor_dagster_is_imported() -> None:
    code = (
        "import sys; from floodmark.cli.app import invoke; invoke(['lint', 'pipelines']);"
        "print([m for m in ('pyspark', 'dagster', 'pandera') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_table_of_a_query_is_a_table_and_a_sink(tmp_path: Path) -> None:
    made = "CREATE TABLE u AS SELECT k, a FROM t;\nCREATE MATERIALIZED VIEW v AS SELECT {} FROM u;"
    assert findings(tmp_path, TABLE + made.format("k, a")) == []
    assert findings(tmp_path, TABLE + made.format("x")) == ["3:38 E0206"]
    wrong = TABLE.replace("INT);", "NOTYPE);") + made.format("x")
    assert findings(tmp_path, wrong) == ["1:38 E0113"]


def test_a_sink_without_a_query_has_no_star(tmp_path: Path) -> None:
    sql = "CREATE TABLE u (k INT PRIMARY KEY, a INT);\nCREATE SINK u INTO u FROM t;"
    (tmp_path / "a.sql").write_text(TABLE + sql)
    assert "FROM t will include columns that are added to t later" in lint(tmp_path).stdout


@pytest.mark.parametrize("words", [[], ["nowhere"], ["a.sql"]], ids=str)
def test_what_is_not_there_is_named_with_a_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["lint", *words])
    assert done.exit_code == 1 and "error[E0365]" in done.output and "--pipelines" in done.output


def test_a_circle_and_a_mistake_hide_nothing_else(tmp_path: Path) -> None:
    files = "WITH (connector = 'files', path = 'in') FORMAT PLAIN ENCODE JSON;"
    (tmp_path / "a.sql").write_text(
        "CREATE VIEW ok AS SELECT x FROM later;\n"
        "CREATE VIEW a AS SELECT * FROM b;\nCREATE VIEW b AS SELECT * FROM a;\n"
        "CREATE VIEW c AS SELECT nothing FROM later;\nCREATE VIEW d AS SELECT * FROM c;\n"
        f"CREATE SOURCE later (x INT) {files}\nCREATE SOURCE unread (x INT) {files}\n"
    )
    done = CliRunner().invoke(app, ["lint", str(tmp_path)])
    lines = [line.removeprefix(f"{tmp_path}/a.sql:") for line in done.stdout.splitlines()]
    assert [line.split()[:2] for line in lines] == [["2:13", "E0204"], ["4:25", "E0206"]], lines


def test_what_only_a_plan_of_files_checks_is_a_mistake_here_too(tmp_path: Path) -> None:
    sql = (
        "CREATE INDEX i ON t (nosuch);\nCREATE INDEX j ON t (a);\n"
        "CREATE INDEX n ON t (a) INCLUDE (neither);\n"
        "CREATE TABLE u WITH (continuous = false) AS SELECT k FROM t;\n"
        'CREATE TABLE ".t" (k INT);\n'
    )
    assert findings(tmp_path, TABLE + sql) == [
        "2:22 E0852", "4:14 E0852", "5:14 E0848", "6:14 E0461",
    ]  # fmt: skip
    wrong = TABLE.replace("INT);", "NOTYPE);") + "CREATE INDEX i ON t (nosuch);"
    assert findings(tmp_path, wrong) == ["1:38 E0113"]
