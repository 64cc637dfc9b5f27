"""Definitions in a warehouse's catalog log as an older version may have accepted them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from floodmark.storage.records.text import parse_text, record_text


def rewrite_at_rest(root: Path, key: str, old: str, new: str, name: str = "sql") -> None:
    """Put another text into a logged definition, in every version that has it."""
    for path in (root / "_floodmark" / "catalog").glob("*.json"):
        record = parse_text(path.read_text(), str(path))
        for statement in record.body["statements"]:
            if statement["object"] == key and statement.get(name) is not None:
                assert old in statement[name]
                statement[name] = statement[name].replace(old, new)
        path.write_text(record_text(path.name, replace(record, body=record.body)))
