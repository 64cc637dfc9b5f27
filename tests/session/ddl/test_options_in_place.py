"""Options of objects that are there: whichever way a value comes in, the same checks see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.errors import FloodmarkError
from floodmark.session.ddl.deployment import plan_files, plan_statement
from floodmark.session.ddl.desired import read_files
from floodmark.session.ddl.rereading import refuse_rereading
from floodmark.sql.parse import parse_statement
from floodmark.warehouse.changes import ObjectChange
from floodmark.warehouse.deployed import Deployed
from tests.session.ddl.test_deployment import deployed
from tests.sql.planned_scripts import Planner

TABLES = """
CREATE TABLE src (k INT PRIMARY KEY, v BIGINT);
CREATE TABLE log (k INT PRIMARY KEY, v BIGINT) APPEND ONLY;
CREATE TABLE t (k INT PRIMARY KEY, v BIGINT);
CREATE TABLE u (k INT PRIMARY KEY, v BIGINT);
"""
SINK = "CREATE SINK s INTO t AS SELECT k, v FROM src WITH ({});"
VIEW = "CREATE MATERIALIZED VIEW m AS SELECT k, v FROM log WITH ({});"
OUTSIDE = (
    "CREATE SINK o AS SELECT k, v FROM src WITH (connector = 'files', path = '{}', "
    "type = 'retract', format = 'json'{});"
)


def _planned(script: str) -> Planner:
    planner = Planner()
    planner.script(TABLES + script)
    return planner


def _refused_as(planner: Planner, sql: str) -> str:
    with pytest.raises(FloodmarkError) as refused:
        planner.run(parse_statement(sql, "x.sql"))
    return refused.value.code


def _changes_of(planner: Planner, sql: str) -> list[ObjectChange]:
    plan = plan_statement(parse_statement(sql, "x.sql"), planner.deployed)
    assert plan is not None
    return list(plan.changes)


@pytest.mark.parametrize("began", ["false", "true"])
@pytest.mark.parametrize("how", ["SET (snapshot = {})", "AS {} WITH (snapshot = {})", "RESET"])
def test_snapshot_says_how_an_object_began(began: str, how: str) -> None:
    other = {"false": "true", "true": "false"}[began]
    planner = _planned(SINK.format(f"snapshot = {began}") + VIEW.format(f"snapshot = {began}"))
    for kind, name, query in (
        ("SINK", "s", "SELECT k, v + 1 AS v FROM src"),
        ("MATERIALIZED VIEW", "m", "SELECT k, v FROM log"),
    ):
        said = how.replace("{}", query, 1) if how.startswith("AS") else how
        said = "RESET (snapshot)" if how == "RESET" else said.format(other)
        text = f"ALTER {kind} {name} {said}"
        if how == "RESET" and began == "true":
            planner.run(parse_statement(text, "x.sql"))
        else:
            assert _refused_as(planner, text) == "E0856"
    if began == "false":
        assert _refused_as(planner, "DROP SINK s WITH ROWS") == "E0342"
        view = "ALTER MATERIALIZED VIEW m SET (determinism = 'flink', snapshot = FALSE)"
        planner.run(parse_statement(view, "x.sql"))


def test_a_view_that_begins_anew_may_begin_whole() -> None:
    planner = _planned(VIEW.format("snapshot = false"))
    grouped = "ALTER MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM log GROUP BY v"
    changes = _changes_of(planner, grouped + " WITH (snapshot = true)")
    assert [(c.key, c.action) for c in changes] == [("m", "rebuild")]


@pytest.mark.parametrize(
    "query",
    ["SELECT k, v + 1 AS v FROM log", "SELECT v, count(*) AS n FROM log GROUP BY v"],
    ids=["alike", "by another key"],
)
@pytest.mark.parametrize("first", ["SELECT k, v FROM log", "SELECT v, 0 AS n FROM log GROUP BY v"])
def test_a_view_without_a_snapshot_is_not_emptied(first: str, query: str) -> None:
    planner = _planned(f"CREATE MATERIALIZED VIEW m AS {first} WITH (snapshot = false);")
    text = f"ALTER MATERIALIZED VIEW m AS {query}"
    plan = plan_statement(parse_statement(text), planner.deployed)
    assert plan is not None and plan.changes[0].action in ("rebuild", "replace")
    with pytest.raises(FloodmarkError, match="the rows that it has would be lost") as refused:
        refuse_rereading(plan.changes, planner.deployed.pipeline, plan.pipeline)
    assert refused.value.code == "E0854"


def _said_in_files(tmp_path: Path, before: str, after: str) -> list[ObjectChange]:
    """Return the changes of a pipeline file from one text to another."""
    known = deployed(tmp_path, before)
    (tmp_path / "a.sql").write_text(after)
    return list(plan_files(read_files(tmp_path), known).changes)


def test_a_file_is_asked_as_an_alter_is(tmp_path: Path) -> None:
    for text in (SINK, VIEW):
        said = [TABLES + text.format(f"snapshot = {value}") for value in ("false", "true")]
        for before, after in (said, said[::-1]):
            with pytest.raises(FloodmarkError, match="E0856"):
                _said_in_files(tmp_path, before, after)


@pytest.mark.parametrize("option", ["force_append_only", "ignore_delete"])
def test_what_a_sink_has_kept_is_known_when_its_option_is_gone(option: str) -> None:
    planner = _planned(SINK.format(f"{option} = true"))
    planner.script(f"ALTER SINK s RESET ({option}); ALTER SINK s AS SELECT k, v + 1 FROM src;")
    assert _refused_as(planner, "DROP SINK s WITH ROWS") == "E0342"
    never = _planned(SINK.format(f"{option} = false"))
    never.script(f"ALTER SINK s RESET ({option}); DROP SINK s WITH ROWS;")


def test_a_file_does_not_forget_what_a_sink_has_kept(tmp_path: Path) -> None:
    known = deployed(tmp_path, TABLES + SINK.format("ignore_delete = true"))
    for said in ("type = 'upsert'", "determinism = 'flink'"):
        known = deployed(tmp_path, TABLES + SINK.format(said), known)
    assert _refused_as(Planner(known), "DROP SINK s WITH ROWS") == "E0342"


def test_a_file_does_not_forget_that_sinks_owned_columns(tmp_path: Path) -> None:
    owning = "CREATE SINK s INTO t (k, v) AS SELECT k, v FROM src WITH (on_delete = 'columns');"
    table = "t (k INT PRIMARY KEY, v BIGINT)"
    owned = f"{table} ON CONFLICT DO UPDATE FULL"
    known = deployed(tmp_path, TABLES.replace(table, owned) + owning)
    known = deployed(tmp_path, TABLES.replace(table, owned), known)
    assert known.pipeline["t"].has_owners
    more = owned.replace("v BIGINT", "v BIGINT, w INT")
    known = deployed(tmp_path, TABLES.replace(table, more), known)
    assert known.pipeline["t"].has_owners


HERE = "/tmp/out"


@pytest.mark.parametrize(
    "path", ["file:///tmp/out", "file://localhost/tmp/out", "/tmp/x/../out", "/tmp/out/"]
)
def test_a_sink_goes_on_in_the_same_folder(path: str) -> None:
    planner = _planned(OUTSIDE.format(HERE, ""))
    (change,) = _changes_of(planner, f"ALTER SINK o SET (path = '{path}')")
    assert (change.action, change.reason) == ("alter", "it is written in other words: it goes on")


def test_another_folder_is_told() -> None:
    planner = _planned(OUTSIDE.format(HERE, ""))
    (change,) = _changes_of(planner, "ALTER SINK o SET (path = 'file:///tmp/other')")
    told = "it writes into /tmp/other: what it has written into /tmp/out stays"
    assert (change.action, change.reason) == ("rebuild", told)
    for other in ("rows_per_file = 1000", "determinism = 'flink'", "type = 'upsert'"):
        (change,) = _changes_of(planner, f"ALTER SINK o SET ({other})")
        assert change.action == "rebuild"


def _with_host(tmp_path: Path, text: str, url: str) -> Deployed:
    """Return what is deployed where the log has a URL of another host: older versions took it."""
    with pytest.MonkeyPatch.context() as before:
        before.setattr("floodmark.catalog.option_values.Folder.check_host", lambda *_: None)
        return deployed(tmp_path, TABLES + text.format(url, ""))


def test_a_folder_of_a_host_at_rest_is_what_it_was(tmp_path: Path) -> None:
    source = (
        "CREATE SOURCE i (k INT) WITH (connector = 'files', path = '{}') FORMAT PLAIN ENCODE JSON;"
    )
    both = OUTSIDE + source.replace("{}", "file://tmp/in")
    known = _with_host(tmp_path, both, "file://tmp/out")
    sink = known.pipeline["sink:o"].external_sink
    assert sink is not None and sink.path == Path("/out")
    for path, action in (("file:///out", "alter"), ("/out", "alter"), (HERE, "rebuild")):
        (tmp_path / "a.sql").write_text(TABLES + both.format(path, ""))
        plan = plan_files(read_files(tmp_path), known)
        assert {c.key: c.action for c in plan.changes} == {"sink:o": action}
    for text in (both.format("file://lan/out", ""), both.replace("file://tmp/in", "file://lan/in")):
        (tmp_path / "a.sql").write_text(TABLES + text.format("file://tmp/out", ""))
        with pytest.raises(FloodmarkError, match="names the host lan"):
            plan_files(read_files(tmp_path), known)
