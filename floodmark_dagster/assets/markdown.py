"""Texts of others in Markdown: shown as they are, whatever is in them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from floodmark.session.ddl.effects import ObjectEffect, sql_diff

_FENCES = re.compile(r"`{3,}")


def code_block(text: str, language: str = "") -> str:
    """Return a block of code; its fence is longer than any in the text.

    >>> code_block("SELECT 1", "sql")
    '```sql\\nSELECT 1\\n```'
    >>> code_block("SELECT '````'")
    "`````\\nSELECT '````'\\n`````"
    """
    longest = max(map(len, _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def plan_text(effects: Sequence[ObjectEffect]) -> str:
    """Return what a plan does to each object, in Markdown."""
    parts = [code_block(part, "diff") for part in plan_parts(effects)]
    return "\n\n".join(parts) or "Nothing would change."


def plan_parts(effects: Sequence[ObjectEffect]) -> list[str]:
    """Return what a plan does to each object, with the lines in which its SQL differs."""
    parts = []
    for effect in (effect for effect in effects if effect.action != "keep"):
        lines = [f"{effect.action}  {effect.key}  {effect.kind}  {effect.does}".rstrip()]
        if effect.reason not in ("new", effect.does):
            lines.append(f"  why: {effect.reason}")
        if effect.loses:
            rows = "1 row" if effect.loses == 1 else f"{effect.loses:,} rows"
            lines.append(f"  loses {rows} that statements wrote")
        if effect.downstream and effect.action != "create":
            reached = ", ".join(f"{key} ({action})" for key, action in effect.downstream)
            lines.append(f"  downstream: {reached}")
        parts.append("\n".join([*lines, *sql_diff(effect)]))
    return parts
