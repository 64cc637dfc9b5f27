"""Functions are called by verbs for actions and nouns for things: no participle, no preposition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

HOUSE = Path(__file__).parents[2] / "floodmark"
MOST = 0.165
"""Which part of all functions is called otherwise at most; the aim is 0.03. It only goes down."""
PREPOSITIONS = frozenset(
    (
        "about",
        "above",
        "after",
        "against",
        "among",
        "as",
        "at",
        "before",
        "behind",
        "below",
        "beside",
        "between",
        "by",
        "down",
        "during",
        "for",
        "from",
        "in",
        "into",
        "of",
        "off",
        "on",
        "onto",
        "out",
        "over",
        "past",
        "per",
        "since",
        "through",
        "to",
        "under",
        "until",
        "up",
        "with",
        "within",
        "without",
    )
)
PARTICIPLES = frozenset(
    (
        "begun",
        "bound",
        "broken",
        "built",
        "chosen",
        "cut",
        "done",
        "drawn",
        "found",
        "given",
        "gone",
        "grown",
        "held",
        "kept",
        "known",
        "left",
        "lost",
        "made",
        "put",
        "read",
        "said",
        "seen",
        "sent",
        "shown",
        "stood",
        "taken",
        "thrown",
        "told",
        "worn",
        "written",
    )
)
NOT_OF_A_VERB = frozenset(("bed", "embed", "feed", "need", "seed", "shed", "speed"))


def functions() -> Iterator[str]:
    for path in HOUSE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                yield node.name.strip("_")


def is_participle(word: str) -> bool:
    past = len(word) > 4 and word.endswith("ed") and word not in NOT_OF_A_VERB
    return past or word in PARTICIPLES


def test_few_functions_are_called_by_a_participle_or_a_preposition() -> None:
    names = list(functions())
    other = [n for n in names if is_participle(n.split("_")[0]) or n in PREPOSITIONS]
    assert len(other) <= MOST * len(names), sorted(other)
