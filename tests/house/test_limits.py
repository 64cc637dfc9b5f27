"""Limits are those of the warehouse: who goes by the default ones is listed, with the reason."""

from __future__ import annotations

import ast
from pathlib import Path

import floodmark
from floodmark.limits import LIMITS, each_limit

_ROOT = Path(floodmark.__file__).parent
_ENTRY = "an entry: `connect(limits=…)` begins here"
_LANGUAGE = "what a definition may say is the same for all who read it from the log"
_SERVER = "a server of Spark is that of several warehouses"
GO_BY_THE_DEFAULT = {
    "api.py": _ENTRY,
    "testing/output.py": "reads what a test of a user's SQL wrote, with the default limits",
    "catalog/option_table.py": "the documented defaults",
    "connectors/registry.py": "a check makes a connector that reads nothing",
    "sql/constant_rows.py": _LANGUAGE,
    "sql/parser/cursor.py": _LANGUAGE,
    "sql/parser/expressions.py": _LANGUAGE,
    "sql/validate.py": _LANGUAGE,
    "plan/declare/functions.py": _LANGUAGE,
    "plan/expr/size.py": _LANGUAGE,
    "plan/nodes/size.py": _LANGUAGE,
    "plan/nodes/sources.py": "the rows that the parser reads as data",
    "stream/objects/supported.py": _LANGUAGE,
    "warehouse/settings.py": "a warehouse has no others of the shared ones",
    "spark/server.py": _SERVER,
    "spark/session.py": _SERVER,
}


def test_only_these_go_by_the_default_limits() -> None:
    found = set()
    for path in sorted(_ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "floodmark.limits":
                if any(alias.name == "LIMITS" for alias in node.names):
                    found.add(path.relative_to(_ROOT).as_posix())
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "Limits" or path.name == "limits.py", path
    assert found == {*GO_BY_THE_DEFAULT}


def test_the_shared_ones_are_read_of_the_default_limits_alone() -> None:
    """A warehouse that had others would print them, and nobody would go by them."""
    shared = {limit.name for limit in each_limit(LIMITS) if limit.shared}
    read: dict[str, set[str]] = {"LIMITS": set(), "limits": set()}
    for path in _ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            # The documented defaults are of limits that each warehouse has for itself.
            if isinstance(node, ast.Attribute) and path.name != "option_table.py":
                of = ast.unparse(node.value).rpartition(".")[2]
                read.get(of, set()).add(node.attr)
    assert read["LIMITS"] == shared
    assert not read["limits"] & shared and "source_rows" in read["limits"]
