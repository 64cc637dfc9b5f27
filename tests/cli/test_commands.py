"""The commands, as a person and as a program call them."""

from __future__ import annotations

import errno
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from floodmark.api import connect
from floodmark.cli.app import app, invoke
from floodmark.epochs.loop import EpochLoop
from floodmark.epochs.summary import EpochSummary
from floodmark.errors import TransientError
from floodmark.warehouse.split_enumerator import SplitEnumerator

PIPELINE = """
CREATE SOURCE numbers (n BIGINT) WITH (connector = 'files', path = '{landing}')
    FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW squares AS SELECT n, 12 / n AS part FROM numbers;
CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n FROM squares;
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with pipeline files and a landing folder, made the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("pipelines", "landing"):
        (tmp_path / name).mkdir()
    sql = PIPELINE.format(landing=tmp_path / "landing")
    (tmp_path / "pipelines" / "numbers.sql").write_text(sql)
    return tmp_path


def call(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=given)


@pytest.mark.usefixtures("project")
def test_a_plan_of_an_empty_warehouse_creates_everything() -> None:
    found = call("plan", "--json")
    changes = json.loads(found.stdout)["changes"]
    assert [(c["object"], c["action"]) for c in changes] == [
        ("numbers", "create"), ("squares", "create"), ("total", "create"),
    ]  # fmt: skip
    assert changes[0]["downstream"] == ["squares", "total"]


@pytest.mark.usefixtures("project")
def test_explain_knows_what_the_files_define() -> None:
    found = call("explain", "total")
    assert "Materialize" in found.stdout and found.exit_code == 0
    assert call("explain", "TOTAL").stdout == found.stdout


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(part) FROM squares",
        "CREATE MATERIALIZED VIEW parts AS SELECT sum(part) AS p FROM squares",
    ],
)
def test_explain_of_sql_reads_what_the_files_define(sql: str) -> None:
    found = call("explain", sql)
    assert "Aggregate" in found.stdout and found.exit_code == 0, found.stderr


def test_explain_of_sql_has_the_determinism_that_the_files_set(project: Path) -> None:
    file = project / "pipelines" / "numbers.sql"
    sql = "CREATE MATERIALIZED VIEW at AS SELECT n, now() AS seen FROM total"
    assert "E0320" in call("explain", sql).stderr
    file.write_text(file.read_text() + "SET determinism = 'ignore';")
    assert "A106" in call("explain", sql).stdout


@pytest.mark.spark
def test_explain_reads_what_statements_created_and_what_the_files_have_no_more(
    project: Path,
) -> None:
    (project / "pipelines" / "numbers.sql").write_text("CREATE TABLE old (k INT PRIMARY KEY);")
    with connect(project / "warehouse", project / "pipelines") as fm:
        fm.execute("CREATE TABLE kept (k INT PRIMARY KEY)")
    (project / "pipelines" / "numbers.sql").write_text("CREATE TABLE fresh (k INT PRIMARY KEY);")
    assert call("explain", "SELECT * FROM kept JOIN fresh USING (k)").exit_code == 0
    assert "old" in call("explain", "old").stdout
    refused = call("explain", "SELECT * FROM old")
    assert refused.exit_code == 1 and "E0201" in refused.stderr


def test_plan_and_explain_refuse_what_no_connector_takes(project: Path) -> None:
    file = project / "pipelines" / "numbers.sql"
    file.write_text(file.read_text().replace("'files'", "'files', max_rows_per_epoch = 0", 1))
    for command in (("plan",), ("explain", "total"), ("explain", "SELECT * FROM total")):
        found = call(*command)
        assert found.exit_code == 1 and "E0473" in found.stderr and "numbers.sql:" in found.stderr


def test_wrong_sql_in_a_file_shows_the_place(project: Path) -> None:
    (project / "pipelines" / "wrong.sql").write_text(
        "CREATE MATERIALIZED VIEW v AS SELECT x FROM numbers;"
    )
    found = call("plan")
    assert found.exit_code == 1
    assert "wrong.sql:1:38" in found.stderr and "^" in found.stderr


def test_a_file_that_is_not_utf_8_is_told_with_the_place(project: Path) -> None:
    file = project / "pipelines" / "latin.sql"
    file.write_bytes("-- one\nCREATE TABLE café (id INT);\n".encode("latin-1"))
    for found in (call("plan"), call("sql", "-f", str(file))):
        assert found.exit_code == 1
        assert "E0131" in found.stderr and "latin.sql:2:17" in found.stderr


@pytest.mark.usefixtures("project")
def test_errors_are_data_where_json_is_asked_for() -> None:
    found = call("explain", "SELECT * FROM nothing", "--json")
    assert json.loads(found.stderr)["error"]["code"] == "E0201"
    assert found.exit_code == 1


def test_shared_options_stand_before_or_behind_the_command(project: Path) -> None:
    before = call("--warehouse", "elsewhere", "--json", "status")
    behind = call("status", "--warehouse", "elsewhere", "--json")
    assert json.loads(before.stdout) == json.loads(behind.stdout)
    assert json.loads(before.stdout)["warehouse"] == str(project / "elsewhere")


def test_a_wrong_call_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["run", "--epochs", "none"]) == 1
    assert "--epochs" in capsys.readouterr().err


def test_a_name_that_nothing_has_is_told_with_the_nearest(project: Path) -> None:
    found = call("explain", "totl")
    assert found.exit_code == 1 and "did you mean total" in found.stderr


def test_a_file_is_no_warehouse(project: Path) -> None:
    (project / "file").touch()
    found = call("run", "--warehouse", "file")
    assert found.exit_code == 1 and found.stderr.startswith("error[E0455]")


def test_a_held_lease_is_exit_code_3(project: Path) -> None:
    from floodmark.storage.lease.lease import lease_of

    with lease_of(project / "warehouse").hold("a test"):
        found = call("run", "--wait", "0")
    assert found.exit_code == 3
    assert "E0503" in found.stderr


def test_a_full_disk_is_exit_code_3_and_the_older_report_stays(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str, encoding: str | None = None) -> int:
        with path.open("w", encoding=encoding) as file:
            file.write(text[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    assert call("report").exit_code == 0
    older = (project / "report.html").read_bytes()
    monkeypatch.setattr(Path, "write_text", full)
    found = call("report")
    assert found.exit_code == 3 and "E0504" in found.stderr and "report.html" in found.stderr
    assert (project / "report.html").read_bytes() == older
    assert not [path for path in project.iterdir() if path.name.startswith(".report")]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(("out", "code"), [("landing", 1), ("/dev/full", 3), ("/dev/null", 0)])
def test_a_report_goes_where_it_can(out: str, code: int) -> None:
    found = call("report", "--out", out)
    assert found.exit_code == code and (out in found.stdout + found.stderr)


@pytest.mark.usefixtures("project")
def test_a_run_says_that_the_server_was_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed_once(*_: object) -> Iterator[EpochSummary]:
        if next(times) % 2 == 0:
            raise TransientError("E0511", "the Spark server is gone")
        yield from ()

    times = itertools.count()
    monkeypatch.setattr(EpochLoop, "has_new", lambda *_: True)
    monkeypatch.setattr(EpochLoop, "epochs", killed_once)
    (Path("pipelines") / "numbers.sql").unlink()
    told = "the Spark server was gone: epoch 1 is resumed in new sessions"
    assert call("run").stdout.startswith(told)
    assert json.loads(call("run", "--json").stdout.splitlines()[0]) == {"note": told}


def test_a_run_in_another_folder_than_the_projects_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["run"], ["run", "--json"]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 1 and "E0365" in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("project")
def test_nothing_new_is_found_without_the_heavy_imports() -> None:
    code = (
        "import sys; from floodmark.cli.app import invoke; "
        "code = invoke(['run', '--pipelines', 'pipelines']); "
        "heavy = {'pyspark', 'pandas', 'pandera', 'dagster', 'rich.console'} & set(sys.modules); "
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    (Path("pipelines") / "numbers.sql").unlink()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "nothing to run" in done.stdout
    assert json.loads(call("run", "--json").stdout) == {"epochs": 0, "sealed": 0}


@pytest.mark.usefixtures("project")
def test_a_run_names_files_that_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    (Path("pipelines") / "numbers.sql").unlink()
    monkeypatch.setattr(
        SplitEnumerator, "find_replaced", lambda *_, **__: {"w": "a.json has changed"}
    )
    assert "w: a.json has changed: what came since" in call("run").stdout
    note = json.loads(call("run", "--json").stdout.splitlines()[-1])["note"]
    assert note.startswith("w: a.json has changed")


@pytest.mark.spark
def test_a_pipeline_from_files_to_a_report(project: Path) -> None:
    (project / "landing" / "a.json").write_text('{"n": 3}\n{"n": 0}\n{"n": 4}\n')
    first = call("run", "--json")
    assert first.exit_code == 0, first.stderr
    epochs = [json.loads(line) for line in first.stdout.splitlines()]
    assert {o["object"]: o["dead_rows"] for o in epochs[-1]["objects"]}["squares"] == 1
    assert "nothing new" in call("run").stdout
    (nothing,) = call("run", "--json").stdout.splitlines()
    assert json.loads(nothing) == {"epochs": 0, "sealed": epochs[-1]["epoch"]}
    asked = call("sql", given="SELECT n, part FROM squares ORDER BY n; SHOW TABLES;")
    assert asked.stdout.splitlines()[2:5] == [" 3 |    4", " 4 |    3", "(2 rows)"]
    replayed = json.loads(call("replay", "--json").stdout)
    assert [(r["object"], r["replay"]) for r in replayed] == [
        ("numbers", "same"), ("squares", "same"), ("total", "same"),
    ]  # fmt: skip
    doctor = json.loads(call("doctor", "--json").stdout)
    assert {c["state"] for c in doctor if c["name"] == "dead letters"} == {"warn"}
    assert call("report", "--out", "r.html", "--samples").exit_code == 0
    (squares,) = [o for o in json.loads(call("status", "--json").stdout)["objects"]
                  if o["object"] == "squares"]  # fmt: skip
    assert squares["rows"] == 2 and squares["bytes"] > 0 and squares["state_rows"] is None
    assert {t["role"]: t["rows"] for t in squares["tables"]} == {"rows": 2, "dead letters": 1}
    assert "_rows/public/squares" in call("explain", "squares", "--state").stdout
    assert {c["state"] for c in doctor if c["name"] == "sources"} == {"ok"}
    with (project / "landing" / "a.json").open("a") as file:
        file.write('{"n": 9}\n')
    (grown,) = [c for c in json.loads(call("doctor", "--json").stdout) if c["name"] == "sources"]
    assert grown["state"] == "warn" and "has changed" in grown["message"]
    assert "a.json has changed" in call("run").stdout
    (project / "landing").rename(project / "gone")
    (unlisted,) = [c for c in json.loads(call("doctor", "--json").stdout) if c["name"] == "sources"]
    assert unlisted["state"] == "fail" and "E0475" in unlisted["message"]
    shown = call("status")
    assert shown.exit_code == 0 and "squares" in shown.stdout and "E0475" in shown.stdout
    assert json.loads(call("status", "--json").stdout)["input"]["code"] == "E0475"
    assert "E0475" in (refused := call("run")).stderr and refused.exit_code == 3
    (project / "gone").rename(project / "landing")
    (project / "landing" / "b.json").write_text('{"n": 6}\n{"n": 12}\n')
    assert "1 epoch, 2 rows in, " in call("run").stdout
    page = (project / "r.html").read_text()
    assert 'id="object-squares"' in page and "http" not in page.split("<style>")[0]


@pytest.mark.spark
def test_a_changed_file_waits_for_apply(project: Path) -> None:
    assert call("run").exit_code == 0
    file = project / "pipelines" / "numbers.sql"
    file.write_text(file.read_text().replace("12 / n", "24 / n"))
    refused = call("run")
    assert refused.exit_code == 1 and "E0361" in refused.stderr
    shown = call("plan")
    assert "~ rebuild  squares" in shown.stdout and "24 / n" in shown.stdout
    assert "~ rebuild  total" in shown.stdout
    assert call("plan", "--apply", "--yes").exit_code == 0
    assert "nothing would change" in call("plan").stdout
