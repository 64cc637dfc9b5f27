"""Limits: one place for the numbers, with a unit and a sentence; `doctor -v` prints them."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from floodmark.api import connect
from floodmark.cli.app import app
from floodmark.connectors.base import SourceSpec
from floodmark.connectors.registry import make_connector, sender_of
from floodmark.errors import UserError
from floodmark.limits import LIMITS, Limits, each_limit
from floodmark.scalar.types import INT, Field
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_statement
from floodmark.warehouse.settings import Settings
from floodmark.warehouse.split_enumerator import SplitEnumerator
from tests.source_trees import HOUSE, module_paths, nodes_of


def test_each_number_has_a_unit_and_a_sentence() -> None:
    found = list(each_limit(LIMITS))
    assert [limit.name for limit in found] == [f.name for f in fields(Limits)]
    for limit in found:
        assert limit.value > 0 and limit.unit, limit
        assert limit.doc[0].isupper() or limit.doc.startswith("`"), limit
        assert limit.doc.endswith("."), limit


def test_each_number_is_read_by_the_engine() -> None:
    dagster = (HOUSE.parent / "floodmark_dagster").rglob("*.py")
    read = {node.attr for path in (*module_paths(), *dagster) if path.name != "limits.py"
            for node in nodes_of(path) if isinstance(node, ast.Attribute)}  # fmt: skip
    assert {f.name for f in fields(Limits)} <= read


def test_doctor_prints_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["doctor", "-v"]).stdout
    for limit in each_limit(LIMITS):
        shared = ", in all warehouses\n" if limit.shared else "\n"
        assert f"{limit.name} = {limit.value:,} {limit.unit}{shared}" in shown
        assert re.sub(r"\s+", " ", limit.doc) in re.sub(r"\s+", " ", shown)
    assert "layer_bytes" not in CliRunner().invoke(app, ["doctor"]).stdout
    whole = json.loads(CliRunner().invoke(app, ["doctor", "--verbose", "--json"]).stdout)
    assert {check["name"] for check in whole["checks"]} >= {"java", "disk"}
    assert whole["limits"][0] == {
        "name": "name_bytes", "value": 200, "unit": "bytes", "doc": "A name has no more.",
        "least": 1, "shared": True,
    }  # fmt: skip


def test_settings_that_are_limits_begin_with_those_of_the_warehouse() -> None:
    settings = Settings(Limits(plan_nodes=7, max_due_rows=9))
    assert (settings.plan_nodes, settings.max_due_rows) == (7, 9)
    settings.set(_parsed("SET plan_nodes = 8"))
    assert settings.plan_nodes == 8
    settings.set(_parsed("SET plan_nodes TO DEFAULT"))
    assert settings.plan_nodes == 7


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (Limits(plan_nodes=2_000_000), "is not a whole number from 1 to 1,000,000"),
        (Limits(plan_nodes=0), "is not a whole number from 1 to 1,000,000"),
        (Limits(max_due_rows=10**10), "is not a whole number from 1 to 1,000,000,000"),
        (Limits(layer_bytes=-1), "Limits(layer_bytes=-1): it is less than 0"),
        (Limits(backup_chunk_bytes=0), "it is less than 1"),
        (Limits(compact_fewest=1), "it is less than 2"),
        (Limits(query_joins=10), "Limits(query_joins=10): it is the same in all warehouses"),
        (Limits(server_start_seconds=9), "it is the same in all warehouses"),
    ],
)
def test_a_number_that_a_warehouse_cannot_have_is_refused(
    tmp_path: Path, limits: Limits, told: str
) -> None:
    with pytest.raises(UserError, match=re.escape(told)) as refused:
        connect(tmp_path / "w", limits=limits)
    assert refused.value.code == "E0369"
    assert not (tmp_path / "w").exists()


def _parsed(text: str) -> s.SetOption:
    statement = parse_statement(text)
    assert isinstance(statement, s.SetOption)
    return statement


def test_a_source_takes_as_many_rows_as_its_warehouse_says(tmp_path: Path) -> None:
    with connect(tmp_path / "w", limits=Limits(source_rows=3)) as fm:
        fm.execute("CREATE SOURCE a (k INT) WITH (connector = 'datagen', datagen.rows = 9)")
        fm.execute(
            "CREATE SOURCE b (k INT) "
            "WITH (connector = 'datagen', datagen.rows = 9, max_rows_per_epoch = 5)"
        )
        offers = SplitEnumerator(fm.warehouse.log, fm.warehouse.limits).new_splits(
            fm.deployed.pipeline
        )
    assert {k: sum(split.estimate for split in v) for k, v in offers.items()} == {"a": 3, "b": 5}


def test_the_parts_of_a_warehouse_go_by_its_limits(tmp_path: Path) -> None:
    limits = Limits(source_rows=3, plan_nodes=7, sink_file_rows=5)
    spark: Any = SimpleNamespace(main=object())
    with connect(tmp_path / "v", limits=limits, sessions=lambda: spark) as fm:
        assert fm.warehouse.tables.limits is limits
    with connect(tmp_path / "w", limits=limits) as fm:
        warehouse = fm.warehouse
        fm.execute("CREATE SOURCE a (k INT) WITH (connector = 'datagen', datagen.rows = 9)")
        (split,) = warehouse.splits.new_splits(fm.deployed.pipeline)["a"]
        assert split.estimate == 3
        assert warehouse.settings.plan_nodes == 7
        fm.execute(
            f"CREATE SINK o AS SELECT k FROM a WITH (connector = 'files', path = '{tmp_path}/o') "
            "FORMAT PLAIN ENCODE CSV"
        )
        (sink,) = (o for o in fm.deployed.pipeline.objects.values() if o.name == "o")
        sender: Any = sender_of(sink, warehouse.seed, warehouse.limits)
        assert sender.limits is limits
    for format_ in ("CSV", "PARQUET"):
        named = {"connector": "files", "path": str(tmp_path)}
        spec = SourceSpec("s", (Field("k", INT),), "PLAIN", format_, named)
        connector: Any = make_connector(spec, limits)
        assert connector.limits is limits
