"""A table that somebody broke suspends one object and its readers; everything else goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodmark.api import Floodmark
from floodmark.cli.app import app
from floodmark.errors import UserError
from floodmark.spark.session import Sessions
from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    NOW,
    READINGS,
    REGROUPED,
    Site,
    put,
    readings,
    visible,
)

pytestmark = pytest.mark.spark

OTHER = "CREATE TABLE u (k INT PRIMARY KEY);"
DISTINCT = """
CREATE MATERIALIZED VIEW dv AS SELECT k, count(DISTINCT v) AS n, max(v) AS m FROM s GROUP BY k;
"""
VIEWS = ("j", "st", "st2", "dv")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> Site:
    """Return a site whose `warehouse` has taken in one file of two, and `undisturbed` both."""
    site = Site(tmp_path_factory.mktemp("broken"), sessions)
    site.define(READINGS, NAMES, OTHER, JOINED, GROUPED, REGROUPED, DISTINCT)
    put(site.landing, "0", readings(0, 10))
    with site.connect() as fm:
        fm.execute("INSERT INTO d VALUES ('a', 'Alpha'), ('b', 'Beta')")
        fm.advance(now=NOW)
    site.copy("warehouse", "undisturbed")
    put(site.landing, "1", readings(10, 10))
    with site.connect("undisturbed") as fm:
        fm.advance(now=NOW)
    return site


def _next_commit(log: Path) -> Path:
    newest = max(int(path.stem) for path in log.glob("*.json"))
    return log / f"{newest + 1:020d}.json"


def _garbage(table: Path) -> None:
    _next_commit(table / "_delta_log").write_bytes(b"\xff{")


def _file_for(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("x")


def _of_no_actions(table: Path) -> None:
    _next_commit(table / "_delta_log").write_text('[1]\n{"add": {}}\n')


def _state(root: Path) -> Path:
    return next(log.parent for log in sorted((root / "_state/public/dv").glob("*/_delta_log")))


FAULTS: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "garbage behind a table": ("d", "E0435", lambda w: _garbage(w / "public/d")),
    "no actions behind a table": ("d", "E0435", lambda w: _of_no_actions(w / "public/d")),
    "a table is gone": ("d", "E0402", lambda w: shutil.rmtree(w / "_rows/public/d")),
    "a file is where a table was": (
        "d", "E0455", lambda w: _file_for(w / "_rows/public/d"),
    ),
    "garbage behind a view": ("st", "E0435", lambda w: _garbage(w / "_changes/public/st")),
    "a view is gone": ("st", "E0402", lambda w: shutil.rmtree(w / "_rows/public/st")),
    "a state is gone": ("dv", "E0402", lambda w: shutil.rmtree(_state(w))),
    "a source is gone": ("s", "E0402", lambda w: shutil.rmtree(w / "_rows/public/s")),
}  # fmt: skip
READERS = {"d": {"j"}, "st": {"st2"}, "dv": set(), "s": {"j", "st", "st2", "dv"}}
DAILY = ("garbage behind a table", "a state is gone")


@pytest.mark.parametrize(
    "fault", [f if f in DAILY else pytest.param(f, marks=pytest.mark.long) for f in FAULTS]
)
def test_one_table_stops_one_object(made: Site, fault: str) -> None:
    key, code, breaks = FAULTS[fault]
    site = Site(made.root, made.sessions)
    name = f"w{list(FAULTS).index(fault)}"
    root = site.copy("warehouse", name)
    breaks(root)
    with site.connect(name) as fm:
        assert fm.has_new()
        fm.advance(now=NOW)
        event = fm.warehouse.log.suspensions()
        assert {k: e.code for k, e in event.items()} == {key: code}
        head = fm.warehouse.log.head().sealed
        behind = {k for k, r in fm.status().items() if r.position < head}
        assert behind == {key} | READERS[key]
        _others_go_on(fm, site, name, key)
        with pytest.raises(UserError, match="E0383"):
            fm.execute(f"ALTER {fm.find(key).kind.value.upper()} {key} RESUME")
        _mend(made.root / "warehouse", root, key)
        fm.execute(f"ALTER {fm.find(key).kind.value.upper()} {key} RESUME")
        assert not fm.warehouse.log.suspensions()
        assert fm.advance(now=NOW) == []
    for view in VIEWS:
        assert visible(root, view) == visible(made.root / "undisturbed", view)


def _mend(whole: Path, root: Path, key: str) -> None:
    """Put an object's tables back as they were: nothing has been written since."""
    for part in ("public", "_rows/public", "_changes/public", "_state/public"):
        broken = root / part / key
        if broken.is_file():
            broken.unlink()
        shutil.rmtree(broken, ignore_errors=True)
        if (whole / part / key).exists():
            shutil.copytree(whole / part / key, broken)


def _others_go_on(fm: Floodmark, site: Site, name: str, key: str) -> None:
    assert fm.execute("INSERT INTO u VALUES (1)").rowcount == 1
    fm.execute("CREATE MATERIALIZED VIEW uu AS SELECT k FROM u")
    assert fm.execute("SELECT * FROM uu").rows == ((1,),)
    if key != "s":
        assert fm.execute("SELECT count(*) FROM s").rows == ((18,),)
    fm.execute("DROP MATERIALIZED VIEW uu")
    fm.maintain()
    assert set(fm.warehouse.log.suspensions()) == {key}
    done = CliRunner().invoke(app, ["doctor", "--warehouse", str(site.root / name), "--pipelines",
                                    str(site.pipelines)])  # fmt: skip
    assert not isinstance(done.exception, Exception) or done.exit_code in (1, 2), done.output
    assert f"ALTER {fm.find(key).kind.value.upper()} {key} RESUME" in done.output


@pytest.mark.long
@pytest.mark.parametrize("meanwhile", [True, False])
def test_deletion_vectors_stop_one_table_until_they_are_purged(made: Site, meanwhile: bool) -> None:
    name = f"vectors_{meanwhile}"
    root = made.copy("warehouse", name)
    table, spark = f"delta.`{root}/public/d`", made.sessions.main
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM {table} WHERE k = 'a'")
    with made.connect(name) as fm:
        if meanwhile:  # what is written into the table now waits for its return
            fm.execute("INSERT INTO d VALUES ('c', 'Gamma')")
            fm.execute("UPDATE d SET name = 'Beth' WHERE k = 'b'")
        fm.advance(now=NOW)
        event = fm.warehouse.log.suspensions()
        assert {k: e.code for k, e in event.items()} == {"d": "E0407"}
        assert f"REORG TABLE {table} APPLY (PURGE)" in event["d"].message
        findings = [f for f in fm.verify() if f.code == "E0407"]
        assert [f.object for f in findings] == ["d"]
        if not meanwhile:
            _others_go_on(fm, made, name, "d")
        with pytest.raises(UserError, match="E0383"):
            fm.execute("ALTER TABLE d RESUME")
        spark.sql(f"REORG TABLE {table} APPLY (PURGE)")
        spark.sql(
            f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"
        )
        fm.execute("ALTER TABLE d RESUME")
        assert not fm.warehouse.log.suspensions() and fm.advance(now=NOW) == []
        kept = {("b", "Beth"), ("c", "Gamma")} if meanwhile else {("b", "Beta")}
        assert set(fm.execute("SELECT k, name FROM d").rows) == kept
        joined = fm.execute("SELECT DISTINCT k, name FROM j WHERE name IS NOT NULL").rows
        assert set(joined) == kept & set(joined) and ("b", dict(kept)["b"]) in joined
        if meanwhile:
            assert list(fm.verify()) == []
