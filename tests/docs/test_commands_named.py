"""Every `floodmark WORD` of the pages and of the engine's texts is a command that there is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command

from floodmark.cli.app import app

ROOT = Path(__file__).parents[2]
_NAMED = re.compile(r"(?<!from )(?<!import )(?<![\w./-])floodmark ([a-z]+)\b")
_PROSE = {"import"}
"""What comes after the name of the package in code."""


def _pages() -> Iterator[tuple[Path, str]]:
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        if path.name != "CHANGELOG.md":
            yield path, path.read_text()
    for room in ("floodmark", "floodmark_dagster"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield path, node.value


def test_every_command_that_is_named_is_there() -> None:
    commands = {*getattr(get_command(app), "commands")} | _PROSE  # noqa: B009
    named = {(word, path) for path, text in _pages() for word in _NAMED.findall(text)}
    assert len({word for word, _ in named} & commands) > 15
    assert sorted((w, str(p.relative_to(ROOT))) for w, p in named if w not in commands) == []
