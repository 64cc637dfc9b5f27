"""Pipeline files in any order and in folders below: what depends on what decides. No Spark."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from floodmark.errors import BindError
from floodmark.session.ddl.deployment import DeploymentPlan, plan_files
from floodmark.session.ddl.desired import read_files
from floodmark.tools.linting import lint_paths
from floodmark.warehouse.deployed import EMPTY

FILES = {
    "a.sql": "CREATE SINK k INTO t AS SELECT n, m FROM top;",
    "b/sub.sql": "CREATE MATERIALIZED VIEW top AS SELECT count(*) AS n, max(twice(a)) AS m FROM v;",
    "b/deep/er.sql": "CREATE VIEW v AS SELECT a FROM s WHERE a NOT IN (SELECT a FROM filled);",
    "c.sql": "CREATE TABLE t (n BIGINT PRIMARY KEY, m INT); CREATE INDEX i ON t (m);",
    "d.sql": "CREATE FUNCTION twice(x INT) RETURNS INT LANGUAGE sql AS $$ SELECT x + x $$;",
    "z.sql": "CREATE TABLE s (a INT PRIMARY KEY);",
    "y.sql": "CREATE TABLE filled AS SELECT a FROM s;",
}


def planned(folder: Path, files: dict[str, str]) -> DeploymentPlan:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return plan_files(read_files(folder), EMPTY)


def test_definitions_may_stand_in_any_order_and_in_folders_below(tmp_path: Path) -> None:
    plan = planned(tmp_path, FILES)
    assert {c.key for c in plan.changes} == {
        "s", "v", "filled", "sink:filled", "top", "t", "sink:k"
    }  # fmt: skip
    assert plan.pipeline["top"].object.span.file == str(tmp_path / "b" / "sub.sql")
    assert [f for f in lint_paths([tmp_path]) if f.severity == "error"] == []
    assert [
        f for f in lint_paths([tmp_path / "b" / "deep" / "er.sql"]) if f.severity == "error"
    ] == []


def test_each_order_plans_the_same(tmp_path: Path) -> None:
    texts = [FILES[name] for name in ("c.sql", "z.sql", "b/deep/er.sql", "y.sql")]
    found = set()
    for number, order in enumerate(permutations(texts)):
        plan = planned(tmp_path / str(number), {"all.sql": "\n".join(order)})
        found.add(frozenset((c.key, o.fingerprint) for c in plan.changes
                            if (o := plan.pipeline.objects.get(c.key)) is not None))  # fmt: skip
    assert len(found) == 1


def test_what_stands_in_order_stays_in_it(tmp_path: Path) -> None:
    files = {f"{i}.sql": f"CREATE TABLE t{9 - i} (a INT PRIMARY KEY);" for i in range(5)}
    assert list(planned(tmp_path, files).catalog.objects) == ["t9", "t8", "t7", "t6", "t5"]


def test_a_setting_holds_for_what_is_written_after_it(tmp_path: Path) -> None:
    view = "CREATE MATERIALIZED VIEW {} AS SELECT a FROM s;"
    text = f"{view.format('v')} SET determinism = 'ignore'; {view.format('w')}"
    plan = planned(tmp_path, {"a.sql": text, "b/s.sql": FILES["z.sql"]})
    modes = {k: o.option("determinism") for k, o in plan.catalog.objects.items() if k != "s"}
    assert modes["w"] == "ignore" != modes["v"]


def test_a_circle_names_its_members(tmp_path: Path) -> None:
    files = {
        "a.sql": "CREATE VIEW a AS SELECT n FROM b;",
        "b.sql": "CREATE VIEW b AS SELECT n FROM c;",
        "sub/c.sql": "CREATE VIEW c AS SELECT n FROM a;",
        "d.sql": "CREATE VIEW d AS SELECT n FROM a;",
    }
    with pytest.raises(BindError) as refused:
        planned(tmp_path, files)
    error = refused.value
    assert error.code == "E0204" and error.span is not None
    named = error.message.rpartition(": ")[2].split(" -> ")
    assert named[0] == named[-1] and set(named) == {"a", "b", "c"}
    assert "c.sql" in str(error) and "d.sql" not in str(error)
    assert "E0204" in {f.code for f in lint_paths([tmp_path])}


def test_hidden_folders_are_left_out(tmp_path: Path) -> None:
    plan = planned(tmp_path, {"a.sql": FILES["z.sql"], ".kept/b.sql": FILES["z.sql"]})
    assert [c.key for c in plan.changes] == ["s"]
