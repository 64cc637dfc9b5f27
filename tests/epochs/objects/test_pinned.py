"""A source pins what the functions of its TRANSFORM USING mean, and goes on with no other ones."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import floodmark
from floodmark import failpoints
from floodmark.api import Floodmark
from floodmark.cli.app import app
from floodmark.errors import BindError, UserError
from floodmark.scalar import casts
from floodmark.scalar.functions import lookup
from floodmark.scalar.types import Kind
from floodmark.session.ddl.deployment import DeploymentPlan, plan_files
from floodmark.session.ddl.desired import read_files
from floodmark.storage.logs.catalog import CatalogLog
from floodmark.stream.objects import pinned
from floodmark.warehouse.deployed import EMPTY, Deployed, load, statements_of
from tests.warehouses import Site

NOW = datetime(2024, 1, 1, tzinfo=UTC)
TWICE = "CREATE FUNCTION twice(a int) RETURNS int LANGUAGE sql AS 'SELECT more(a) * 2';"
MORE = """
CREATE FUNCTION more(a int) RETURNS int LANGUAGE python IMMUTABLE AS $$
def more(a):
    return a + 1
$$;
"""
SOURCE = """
CREATE SOURCE s (id INT, n INT, k VARCHAR, big BIGINT AS (n::bigint))
WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON
TRANSFORM USING (SELECT id, twice(n) AS m, upper(k) AS k FROM s WHERE now() < '2100-01-01');
CREATE MATERIALIZED VIEW v AS SELECT m, k FROM s;
"""
ABOVE = "CREATE MATERIALIZED VIEW w AS SELECT twice(m) AS t FROM s;"
SIGNATURE = "upper(character varying)"


def _planned(folder: Path, text: str, deployed: Deployed) -> DeploymentPlan:
    folder.mkdir(exist_ok=True)
    (folder / "all.sql").write_text(text)
    return plan_files(read_files(folder), deployed)


def _logged(root: Path, plan: DeploymentPlan, before: Deployed) -> Deployed:
    """Return the definitions as a new process finds them."""
    log = CatalogLog(root)
    log.append(1, statements_of(plan.catalog, plan.pins(before)), NOW)
    latest = log.latest()
    assert latest is not None
    return load(latest)


def _means_else(monkeypatch: pytest.MonkeyPatch, name: str = "upper") -> None:
    """Let a built-in function mean something else, as in a later version."""

    def later(call: Any) -> Any:
        entry = lookup(call)
        return replace(entry, version=2) if call.function == name else entry

    monkeypatch.setattr(pinned, "lookup", later)


def test_all_that_is_called_is_pinned(tmp_path: Path) -> None:
    found = _logged(tmp_path, _planned(tmp_path / "sql", MORE + TWICE + SOURCE, EMPTY), EMPTY)
    pins = found.pinned["s"]
    assert {k: v for k, v in pins.items() if len(v) < 16} == {
        "*(integer, integer)": "1", SIGNATURE: "1", "cast(integer as bigint)": "1",
    }  # fmt: skip
    assert {k for k, v in pins.items() if len(v) == 16} == {"twice(integer)", "more(integer)"}
    assert found.pinned.keys() == {"s"} and found.find_function_changes("s") == ()


def test_a_new_version_of_a_function_or_cast_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _logged(tmp_path, _planned(tmp_path / "sql", MORE + TWICE + SOURCE, EMPTY), EMPTY)
    _means_else(monkeypatch)
    assert found.find_function_changes("s") == (SIGNATURE,)
    monkeypatch.setitem(casts._VERSIONS, (Kind.INT, Kind.BIGINT), 2)  # type: ignore[index]
    assert found.find_function_changes("s") == ("cast(integer as bigint)", SIGNATURE)
    assert found.find_function_changes("v") == ()


@pytest.mark.parametrize("changed", ["a + 2", "a * 7"])
def test_another_definition_of_a_function_suspends_and_rebuilds_nothing(
    tmp_path: Path, changed: str
) -> None:
    before = _logged(
        tmp_path, _planned(tmp_path / "sql", MORE + TWICE + SOURCE + ABOVE, EMPTY), EMPTY
    )
    other = (MORE + TWICE + SOURCE + ABOVE).replace("a + 1", changed)
    plan = _planned(tmp_path / "sql", other, before)
    assert [(c.action, c.key) for c in plan.changes] == [("suspend", "s"), ("rebuild", "w")]
    assert plan.new_keys == {"w"}
    assert plan.pins(before) == dict(before.pinned)
    assert _logged(tmp_path, plan, before).find_function_changes("s") == ("more(integer)",)


def test_an_sql_function_is_pinned_though_its_text_takes_its_place(tmp_path: Path) -> None:
    before = _logged(tmp_path, _planned(tmp_path / "sql", MORE + TWICE + SOURCE, EMPTY), EMPTY)
    other = (MORE + TWICE + SOURCE).replace("more(a) * 2", "more(a) - 2")
    plan = _planned(tmp_path / "sql", other, before)
    assert [(c.action, c.key) for c in plan.changes] == [("suspend", "s")]
    after = _logged(tmp_path, plan, before)
    assert "twice(integer)" in after.find_function_changes("s")


def test_a_function_that_stores_another_type_rebuilds(tmp_path: Path) -> None:
    before = _logged(tmp_path, _planned(tmp_path / "sql", MORE + TWICE + SOURCE, EMPTY), EMPTY)
    other = (MORE + TWICE + SOURCE).replace(
        "RETURNS int LANGUAGE sql", "RETURNS bigint LANGUAGE sql"
    )
    plan = _planned(tmp_path / "sql", other, before)
    assert [(c.action, c.key) for c in plan.changes] == [("rebuild", "s"), ("rebuild", "v")]
    assert _logged(tmp_path, plan, before).find_function_changes("s") == ()


def test_a_log_without_pins_pins_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = CatalogLog(tmp_path)
    log.append(
        1, statements_of(_planned(tmp_path / "sql", MORE + TWICE + SOURCE, EMPTY).catalog), NOW
    )
    (path,) = (tmp_path / "_floodmark" / "catalog").glob("*.json")
    data = json.loads(path.read_text())["body"]
    for statement in data["statements"]:
        del statement["functions"]
    path.write_text(json.dumps(data))
    found = load(log.get(1))
    _means_else(monkeypatch)
    assert not found.pinned and found.find_function_changes("s") == ()


def test_a_function_that_a_transformation_calls_is_not_dropped(tmp_path: Path) -> None:
    before = _logged(tmp_path, _planned(tmp_path / "sql", MORE + TWICE + SOURCE, EMPTY), EMPTY)
    with floodmark.connect(tmp_path) as fm, pytest.raises(BindError) as refused:
        assert fm.deployed.catalog.objects.keys() == before.catalog.objects.keys()
        fm.execute("DROP FUNCTION twice")
    assert refused.value.code == "E0205"


def _put(site: Site, name: str, *rows: tuple[int, int, str]) -> None:
    site.landing.mkdir(exist_ok=True)
    lines = [json.dumps(dict(zip(("id", "n", "k"), row, strict=True))) for row in rows]
    (site.landing / f"{name}.json").write_text("\n".join(lines))


def _rows(fm: Floodmark, name: str = "s") -> list[Any]:
    return list(fm.execute(f"SELECT m, k FROM {name} ORDER BY m").rows)


@pytest.mark.spark
def test_a_source_goes_on_after_rebase_and_nothing_is_lost(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.define(MORE, TWICE, SOURCE)
    _put(site, "1", (1, 1, "a"))
    with site.connect() as fm:
        fm.advance()
        assert _rows(fm) == [(4, "A")]
        _means_else(monkeypatch)
        _put(site, "2", (2, 2, "b"))
        shown = CliRunner().invoke(app, ["status", "--warehouse", str(fm.root)])
        assert "needs REBASE (E0377)" in shown.output
        fm.advance()
        place = ["--warehouse", str(fm.root), "--pipelines", str(site.pipelines)]
        done = CliRunner().invoke(app, ["run", *place])
        assert done.exit_code == 2 and "sql 'ALTER SOURCE s REBASE'` goes on" in done.output
        assert "s does not go on (E0377)" in CliRunner().invoke(app, ["plan", *place]).output
        event = fm.warehouse.log.suspensions()["s"]
        assert event.code == "E0377" and SIGNATURE in event.message
        result = fm.execute("SELECT m, k FROM v ORDER BY m")
        assert result.rows == ((4, "A"),) and "ALTER SOURCE s REBASE" in result.notices[0]
        with pytest.raises(UserError, match="suspended again") as again:
            fm.execute("ALTER SOURCE s RESUME")
        assert "REBASE" in (again.value.hint or "")
        assert fm.execute("ALTER SOURCE s REBASE").notices == ()
        assert not fm.warehouse.log.suspensions()
        assert _rows(fm) == _rows(fm, "v") == [(4, "A"), (6, "B")]
        assert "mean what they meant" in fm.execute("ALTER SOURCE s REBASE").notices[0]
    with site.connect() as fm:
        _put(site, "3", (3, 3, "c"))
        fm.advance()
        assert _rows(fm, "v") == [(4, "A"), (6, "B"), (8, "C")]
    site.define(MORE.replace("a + 1", "a - 1"), TWICE, SOURCE)
    with pytest.raises(UserError) as differs:
        site.connect()
    assert differs.value.code == "E0361" and "REBASE" in differs.value.message
    with floodmark.connect(site.root / "warehouse", sessions=lambda: site.sessions) as fm:
        fm.apply(site.pipelines)
        assert fm.warehouse.log.suspensions()["s"].code == "E0377"
        _put(site, "4", (4, 4, "d"))
        fm.execute("ALTER SOURCE s REBASE")
        fm.advance()
        assert _rows(fm, "v") == [(4, "A"), (6, "B"), (6, "D"), (8, "C")]
        with pytest.raises(UserError) as nothing:
            fm.execute("ALTER MATERIALIZED VIEW v REBASE")
        assert nothing.value.code == "E0387"


@pytest.mark.spark
def test_a_split_source_is_rebased_by_its_name(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.define("""
CREATE SOURCE s (id INT, n INT, k VARCHAR)
WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON
TRANSFORM USING (SELECT upper(k) AS k, count(*) AS m FROM s GROUP BY upper(k)) WITH (split = true);
""")
    with site.connect() as fm:
        _put(site, "1", (1, 1, "a"))
        fm.advance()
        _means_else(monkeypatch)
        _put(site, "2", (2, 2, "a"))
        fm.advance()
        assert fm.warehouse.log.suspensions().keys() == {"s__stored"}
        fm.execute("ALTER SOURCE s REBASE")
        assert _rows(fm) == [(2, "A")]


class Crash(BaseException):
    """Stands for a power cut: nothing catches it."""


@pytest.mark.spark
@pytest.mark.parametrize("point", ["lease_taken", "offsets_logged", "view_committed"])
def test_an_interrupted_rebase_is_done_or_can_be_done_again(
    site: Site, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    def reach(name: str) -> None:
        if name == point:
            raise Crash

    site.define(MORE, TWICE, SOURCE)
    _put(site, "1", (1, 1, "a"))
    with site.connect() as fm:
        fm.advance()
        _means_else(monkeypatch)
        _put(site, "2", (2, 2, "b"))
        fm.advance()
        assert "s" in fm.warehouse.log.suspensions()
        with monkeypatch.context() as patch, pytest.raises(Crash):
            patch.setattr(failpoints, "reach", reach)
            fm.execute("ALTER SOURCE s REBASE")
    with site.connect() as fm:
        fm.advance()
        if "s" in fm.warehouse.log.suspensions():
            fm.execute("ALTER SOURCE s REBASE")
        assert _rows(fm) == _rows(fm, "v") == [(4, "A"), (6, "B")]
        assert fm.deployed.find_function_changes("s") == ()
