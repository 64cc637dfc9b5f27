"""Limits are those of the warehouse: who goes by the default ones is listed, with the reason."""

from __future__ import annotations

import ast
from pathlib import Path

import floodmark

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
