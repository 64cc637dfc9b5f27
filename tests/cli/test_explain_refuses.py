"""EXPLAIN refuses what CREATE refuses, by the same code, wherever it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodmark.api import Floodmark, connect
from floodmark.cli.app import app
from floodmark.errors import FloodmarkError
from floodmark.session import statements
from floodmark.session.ddl.deployment import plan_statement
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script
from floodmark.warehouse.deployed import Deployed
from tests.golden.cases import Case, load
from tests.sql.planned_scripts import Planner

REFUSED = {
    "CREATE TABLE t (k INT)": "E0202",
    "CREATE MATERIALIZED VIEW v AS SELECT k, s FROM t GROUP BY v": "E0206",
    "CREATE MATERIALIZED VIEW v AS SELECT k, now() AS at FROM t": "E0320",
    "CREATE SINK s INTO t AS SELECT v FROM t": "E0204",
    "CREATE SINK s FROM t WITH (connector = 'files', path = '{root}/in', type = 'retract')"
    " FORMAT PLAIN ENCODE JSON": "E0740",
    "CREATE SOURCE s (a INT) WITH (connector = 'kafka')": "E0470",
    "CREATE TABLE z (d) AS SELECT 1 AS c, 2 AS d": "E0145",
}


def code_of(call: Callable[[], object]) -> str | None:
    """Return the code of the error that a call raises; None without one."""
    try:
        call()
    except FloodmarkError as error:
        return error.code
    return None


@pytest.fixture(name="fm", scope="module")
def _fm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floodmark]:
    with connect(tmp_path_factory.mktemp("explained") / "warehouse") as connection:
        connection.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
        yield connection


@pytest.mark.parametrize("statement", REFUSED)
def test_all_who_explain_refuse_it(fm: Floodmark, statement: str) -> None:
    text = statement.format(root=fm.root)
    asked = [
        code_of(lambda: fm.execute(text)),
        code_of(lambda: fm.execute(f"EXPLAIN {text}")),
        code_of(lambda: fm.explain(text)),
    ]
    assert asked == [REFUSED[statement]] * 3
    said = CliRunner().invoke(app, ["explain", text, "-w", str(fm.root)])
    assert said.exit_code and REFUSED[statement] in said.stderr


@cache
def _refused() -> dict[str, tuple[Deployed, s.Definition, str]]:
    """Return the golden cases whose last statement is a CREATE that is refused, with its code."""
    found = {}
    for case in load():
        refused = case.runs and case.sql and "error[E" in case.expect
        if refused and (made := _last(case)) is not None:
            deployed, statement = made
            code = code_of(lambda d=deployed, x=statement: plan_statement(x, d))
            if code is not None:
                found[f"{case.file}-{case.name}"] = (deployed, statement, code)
    return found


@cache
def _set_up(setup: str) -> Deployed:
    planner = Planner()
    planner.script(setup)
    return planner.deployed


def _last(case: Case) -> tuple[Deployed, s.Definition] | None:
    try:
        *before, last = parse_script(case.sql)
        planner = Planner(_set_up(case.setup))
        for statement in before:
            planner.run(statement)
    except FloodmarkError:
        return None
    return (planner.deployed, last) if isinstance(last, s.Definition) else None


def test_explain_refuses_every_definition_that_create_refuses(fm: Floodmark) -> None:
    cases = _refused()
    assert len(cases) > 100
    codes = {
        name: code_of(lambda d=deployed, x=statement: statements.explain(x, d, fm.warehouse))
        for name, (deployed, statement, _) in cases.items()
    }
    assert codes == {name: code for name, (_, _, code) in cases.items()}


def test_looking_at_a_sink_writes_nothing_where_it_would(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with connect(tmp_path / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT)")
        sink = (
            f"CREATE SINK s FROM t WITH (connector = 'files', path = '{out}', type = 'retract') "
            "FORMAT PLAIN ENCODE JSON"
        )
        (out / ".floodmark-probe-of-a-killed-process").touch()
        before = out.stat().st_mtime_ns
        fm.explain(sink)
        assert out.stat().st_mtime_ns == before
        fm.execute(sink)
        assert not list(out.glob(".floodmark-probe*"))
