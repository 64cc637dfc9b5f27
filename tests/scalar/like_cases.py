"""Patterns of LIKE, and what a matcher says that tries everything."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

ESCAPES = ("\\", "!", "", "^", "]", "}", "?", ".", "%", "_", "x", "5", "$", "ä")
SLOW = [("a" * 10_000, f"%{'a%' * pieces}b") for pieces in (8, 40)]
"""Texts and patterns for which trying everything takes longer than there is time."""


def naive(text: str, pattern: str, escape: str) -> bool | None:
    """Tell whether a text is like a pattern; None for a pattern that ends in its escape."""
    tokens, rest = list[tuple[str, bool]](), iter(pattern)
    for c in rest:
        if escape and c == escape:
            c = next(rest, "")
            if not c:
                return None
            tokens.append((c, True))
        else:
            tokens.append((c, c not in "%_"))

    @cache
    def fits(i: int, j: int) -> bool:
        if j == len(tokens):
            return i == len(text)
        c, literal = tokens[j]
        if c == "%" and not literal:
            return fits(i, j + 1) or (i < len(text) and fits(i + 1, j))
        return i < len(text) and (not literal or text[i] == c) and fits(i + 1, j + 1)

    return fits(0, 0)


def drawn(seed: int, count: int) -> Iterator[tuple[str, str, str]]:
    """Yield texts with patterns that are made of them, and with the escape character."""
    random, letters = Random(seed), "aab.\\%_ä𝄞\n(]$?^!x5{}\t'"
    for _ in range(count):
        text = "".join(random.choice(letters) for _ in range(random.randrange(9)))
        escape = random.choice(ESCAPES)
        parts = [_part(random, c, escape) for c in text]
        for _extra in range(random.randrange(3)):
            parts.insert(
                random.randrange(len(parts) + 1), random.choice(("%", "%%", "_", "a", escape))
            )
        yield text, "".join(parts), escape


def _part(random: Random, c: str, escape: str) -> str:
    chance = random.random()
    if chance < 0.4:
        return random.choice(("%", "%", "_", ""))
    return f"{escape}{c}" if escape and (c in "%_" or c == escape or chance < 0.5) else c
