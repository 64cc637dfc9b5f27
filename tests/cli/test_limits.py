"""Limits: one place for the numbers, with a unit and a sentence; `doctor -v` prints them."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner

import floodmark
from floodmark.cli.app import app
from floodmark.limits import LIMITS, Limits, each_limit

_ROOT = Path(floodmark.__file__).parent


def test_each_number_has_a_unit_and_a_sentence() -> None:
    found = list(each_limit(LIMITS))
    assert [limit.name for limit in found] == [f.name for f in fields(Limits)]
    for limit in found:
        assert limit.value > 0 and limit.unit, limit
        assert limit.doc[0].isupper() or limit.doc.startswith("`"), limit
        assert limit.doc.endswith("."), limit


def test_each_number_is_read_by_the_engine() -> None:
    texts = [p.read_text() for p in _ROOT.rglob("*.py") if p.name != "limits.py"]
    read = {node.attr for text in texts for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Attribute)}  # fmt: skip
    assert {f.name for f in fields(Limits)} <= read


def test_doctor_prints_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["doctor", "-v"]).stdout
    for limit in each_limit(LIMITS):
        assert f"{limit.name} = {limit.value:,} {limit.unit}" in shown
        assert re.sub(r"\s+", " ", limit.doc) in re.sub(r"\s+", " ", shown)
    assert "layer_bytes" not in CliRunner().invoke(app, ["doctor"]).stdout
    whole = json.loads(CliRunner().invoke(app, ["doctor", "--verbose", "--json"]).stdout)
    assert {check["name"] for check in whole["checks"]} >= {"java", "disk"}
    assert whole["limits"][0] == {
        "name": "name_bytes", "value": 200, "unit": "bytes", "doc": "A name is no longer.",
    }  # fmt: skip
