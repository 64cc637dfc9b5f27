"""Relative paths start at the project, whoever runs from which folder."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.api import Floodmark, connect
from floodmark.catalog.places import project_of
from floodmark.epochs.opening import open_epoch
from floodmark.errors import UserError
from floodmark.session.ddl import deployment
from floodmark.spark.cache import cache_folder
from floodmark.testing import FixedClock
from tests.warehouses import NOW, Site, visible

TEXT = """
CREATE SOURCE s (a INT) WITH (connector = 'files', path = 'landing') FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW v AS SELECT a FROM s;
CREATE SINK out FROM v WITH (connector = 'files', path = 'out', type = 'retract')
    FORMAT PLAIN ENCODE PARQUET;
"""
PLAIN = TEXT.partition("CREATE MATERIALIZED")[0]


def project(folder: Path, text: str = PLAIN) -> Path:
    (folder / "pipelines").mkdir(parents=True)
    (folder / "landing").mkdir()
    (folder / "pipelines" / "a.sql").write_text(text)
    return folder


def deploy(folder: Path, warehouse: Path) -> Floodmark:
    return connect(warehouse, folder / "pipelines")


def test_the_project_is_what_holds_floodmark_toml_or_the_parent(tmp_path: Path) -> None:
    pipelines = tmp_path / "a" / "b" / "pipelines"
    pipelines.mkdir(parents=True)
    assert project_of(pipelines) == tmp_path / "a" / "b"
    (tmp_path / "a" / "floodmark.toml").touch()
    assert project_of(pipelines) == tmp_path / "a"


def test_a_path_does_not_follow_the_folder_of_who_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, other = project(tmp_path / "ours"), tmp_path / "other"
    (ours / "landing" / "0.json").write_text('{"a": 1}\n')
    (other / "landing").mkdir(parents=True)
    (other / "landing" / "1.json").write_text('{"a": 2}\n')
    monkeypatch.chdir(other)
    with deploy(ours, tmp_path / "warehouse") as fm:
        (split,) = fm.warehouse.splits.new_splits(fm.deployed.pipeline)["s"]
        assert split.payload["file"] == "0.json"
        assert fm.deployed.catalog.objects["s"].resolved == str(ours / "landing")
        assert "path = 'landing'" in fm.deployed.catalog.objects["s"].sql
    # A statement's path is of the project of its connection.
    with connect(tmp_path / "warehouse", project=ours) as fm:
        fm.execute(PLAIN.replace("SOURCE s", "SOURCE s2").replace(";", ""))
        assert fm.deployed.catalog.objects["s2"].resolved == str(ours / "landing")
    monkeypatch.chdir(tmp_path)
    with connect(tmp_path / "warehouse") as fm:
        assert fm.warehouse.splits.new_splits(fm.deployed.pipeline).keys() == {"s", "s2"}


def test_a_project_that_moved_is_refused_until_it_is_applied(tmp_path: Path) -> None:
    ours, warehouse = project(tmp_path / "ours"), tmp_path / "warehouse"
    deploy(ours, warehouse).close()
    moved = ours.rename(tmp_path / "moved")
    with pytest.raises(UserError, match="E0361") as refused:
        deploy(moved, warehouse)
    assert str(moved / "landing") in str(refused.value)
    with connect(warehouse) as fm:
        (change,) = fm.plan(moved / "pipelines").changes
        assert (change.key, change.action) == ("s", "alter")


def test_a_home_is_that_of_who_defined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PLAIN.replace("'landing'", "'~/landing'")
    ours, warehouse = project(tmp_path / "ours", text), tmp_path / "warehouse"
    monkeypatch.setenv("FLOODMARK_CACHE", str(cache_folder()))  # not a server of its own
    monkeypatch.setenv("HOME", str(ours))
    with deploy(ours, warehouse) as fm:
        assert fm.deployed.catalog.objects["s"].resolved == str(ours / "landing")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UserError, match="E0361"):
        deploy(ours, warehouse)


def test_a_warehouse_of_before_goes_on(tmp_path: Path) -> None:
    ours, warehouse = project(tmp_path / "ours"), tmp_path / "warehouse"
    with pytest.MonkeyPatch.context() as before:
        before.setattr(deployment, "resolve_paths", lambda catalog, *_, **__: catalog)
        deploy(ours, warehouse).close()
    with connect(warehouse) as fm:
        assert fm.deployed.catalog.objects["s"].resolved is None
        assert fm.plan(ours / "pipelines").changes == ()
    with deploy(ours, warehouse) as fm:
        assert fm.deployed.catalog.objects["s"].resolved == str(ours / "landing")


def test_what_a_connector_refuses_is_no_part_of_the_definition(tmp_path: Path) -> None:
    ours, warehouse = project(tmp_path / "ours"), tmp_path / "warehouse"
    deploy(ours, warehouse).close()
    text = PLAIN.replace("path =", "follow_symlinks = 'true', path =")
    (ours / "pipelines" / "a.sql").write_text(text)
    with deploy(ours, warehouse) as fm:
        found = fm.deployed.pipeline["s"]
        assert found.declared is not None
        assert found.declared.connecting["follow_symlinks"] == "true"
        plain = dataclasses.replace(found.declared, harmless_options=())
        assert plain == found.declared


def test_a_copy_writes_nothing_before_it_is_applied(tmp_path: Path) -> None:
    ours = project(tmp_path / "ours", TEXT)
    with deploy(ours, ours / "warehouse") as fm:
        fm.execute("CREATE TABLE t (k INT)")
        fm.execute(PLAIN.replace("SOURCE s", "SOURCE s2").replace(";", ""))
    copied = Path(shutil.copytree(ours, tmp_path / "copied"))
    with connect(copied / "warehouse", project=copied) as fm:
        head = fm.warehouse.log.head()
        for write in ("INSERT INTO t VALUES (1)", "CREATE TABLE u (k INT)", "DROP TABLE t"):
            with pytest.raises(UserError, match="E0362") as refused:
                fm.execute(write)
            assert f"s was at {ours / 'landing'}" in str(refused.value)
        with pytest.raises(UserError, match="E0362"):
            fm.advance()
        assert fm.warehouse.log.head() == head
        fm.apply(copied / "pipelines")
        assert {o.resolved for o in fm.deployed.catalog.objects.values()} == {
            str(copied / "landing"), str(copied / "out"), None,
        }  # fmt: skip
        fm.execute("INSERT INTO t VALUES (1)")
    # Who says nothing of a project goes by the places that are kept.
    with connect(ours / "warehouse") as fm:
        fm.execute("INSERT INTO t VALUES (1)")


@pytest.mark.spark
def test_what_was_begun_before_the_copy_ends_in_the_copy(site: Site) -> None:
    ours = project(site.root / "ours", TEXT)
    options: dict[str, Any] = {"clock": FixedClock(NOW), "sessions": lambda: site.sessions}
    (ours / "landing" / "0.json").write_text('{"a": 1}\n')
    with connect(ours / "warehouse", ours / "pipelines", **options) as fm:
        fm.advance()
        (ours / "landing" / "1.json").write_text('{"a": 2}\n')
        warehouse = fm.warehouse
        offers = warehouse.splits.new_splits(fm.deployed.pipeline)
        open_epoch(warehouse, warehouse.log.head().sealed + 1, fm.deployed.version, NOW, offers)
    before = sorted((ours / "out").iterdir())
    copied = Path(shutil.copytree(ours, site.root / "copied"))
    with connect(copied / "warehouse", project=copied, **options) as fm:
        fm.apply(copied / "pipelines")
        assert not fm.warehouse.log.suspensions()
        assert visible(copied / "warehouse", "v") == [(1,), (2,)]
    assert sorted((ours / "out").iterdir()) == before
    written = pa.concat_tables(map(pq.read_table, (copied / "out").glob("*.parquet")))
    assert sorted(written.column("a").to_pylist()) == [1, 2]


@pytest.mark.spark
def test_a_project_that_moved_is_taken_over_without_a_rebuild(site: Site) -> None:
    ours, warehouse = project(site.root / "ours", TEXT), site.root / "warehouse"
    (ours / "landing" / "0.json").write_text('{"a": 1}\n')
    options: dict[str, Any] = {"clock": FixedClock(NOW), "sessions": lambda: site.sessions}
    with connect(warehouse, ours / "pipelines", **options) as fm:
        fm.advance()
    moved = ours.rename(site.root / "moved")
    (moved / "landing" / "1.json").write_text('{"a": 2}\n')
    with connect(warehouse, project=moved, **options) as fm:
        plan = fm.apply(moved / "pipelines")
        assert {(c.key, c.action) for c in plan.changes} == {("s", "alter"), ("sink:out", "alter")}
        (epoch,) = fm.advance()
        assert epoch.objects["s"].rows_in == 1
        assert not fm.warehouse.log.suspensions()
        assert visible(warehouse, "v") == [(1,), (2,)]
        written = [pq.read_table(p) for p in sorted((moved / "out").glob("*.parquet"))]
        assert sorted(pa.concat_tables(written).column("a").to_pylist()) == [1, 2]
        target = moved / "copied.csv"
        fm.execute("COPY v TO 'copied.csv'")
        assert sorted(target.read_text().split()) == ["1", "2"]
    with connect(warehouse, moved / "pipelines", **options) as fm:
        assert fm.plan(moved / "pipelines").changes == ()


def test_a_project_that_is_given_is_that_of_files_too(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "landing").mkdir(parents=True)
    (tmp_path / "a" / "pipelines").mkdir(parents=True)
    (tmp_path / "a" / "pipelines" / "s.sql").write_text(
        "CREATE SOURCE s (a INT) WITH (connector = 'files', path = 'landing') "
        "FORMAT PLAIN ENCODE JSON;"
    )
    project = tmp_path / "elsewhere"
    with connect(tmp_path / "w", tmp_path / "a" / "pipelines", project=project) as fm:
        assert fm.deployed.catalog.objects["s"].resolved == str(project / "landing")
