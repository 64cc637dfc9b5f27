"""Functions are called by verbs for actions and nouns for things: no participle, no preposition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

HOUSE = Path(__file__).parents[2] / "floodmark"
MOST = 0.015
"""So many of all functions are called otherwise at most, as a part of one. It only goes down."""
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
VERBS_TOO = frozenset(("cut", "put", "read"))
"""Verbs in the present, too, where what they are done to follows: `read_rows`."""
UNTOLD = frozenset(
    [
        "AtRest",
        "Begun",
        "Formers",
        "Outgoing",
        "OfTable",
        "Task",
        "Work",
        "around",
        "asked",
        "begins",
        "begun",
        "beginning",
        "carried",
        "closes",
        "counted",
        "culprits",
        "delivered",
        "due",
        "exact_spread",
        "fading",
        "findings",
        "forgets",
        "former",
        "found",
        "grows",
        "heard",
        "held",
        "held_by",
        "judged",
        "leaving",
        "letters",
        "moved",
        "needed",
        "not_below",
        "offers",
        "on_time",
        "once",
        "outcome",
        "outside",
        "outward",
        "portion",
        "promised_key",
        "reached",
        "related_rows",
        "report_book",
        "rereadable",
        "seen",
        "settled",
        "spread",
        "stands",
        "telling",
        "told",
        "touched",
        "undone",
        "unfinished",
        "unneeded",
        "verdict",
        "waning",
    ]
)
"""Words that tell nobody what they name: neither a function, a class nor a module has one."""
UNTOLD_PARAMETERS = frozenset(("begun", "found", "stands", "told"))


def functions() -> Iterator[str]:
    # sqlglot finds the printer of a node by its name: `ordered_sql`.
    for path in HOUSE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("__"):
                continue
            if path.name != "dialect.py" or not node.name.endswith("_sql"):
                yield node.name.strip("_")


def defined(node: ast.AST) -> str | None:
    return node.name.strip("_") if isinstance(node, ast.FunctionDef | ast.ClassDef) else None


def is_participle(name: str) -> bool:
    word, *rest = name.split("_")
    if rest and word in VERBS_TOO:
        return False
    past = len(word) > 4 and word.endswith("ed") and word not in NOT_OF_A_VERB
    return past or word in PARTICIPLES


def test_few_functions_are_called_by_a_participle_or_a_preposition() -> None:
    names = list(functions())
    other = [n for n in names if is_participle(n) or n in PREPOSITIONS]
    assert len(other) <= MOST * len(names), sorted(other)


def test_a_name_tells_what_it_is_of() -> None:
    known = []
    for path in HOUSE.rglob("*.py"):
        place = path.relative_to(HOUSE)
        nodes = list(ast.walk(ast.parse(path.read_text())))
        names = [path.stem, *map(defined, nodes)]
        known += [(str(place), name) for name in names if name in UNTOLD]
        parameters = [node.arg for node in nodes if isinstance(node, ast.arg)]
        known += [(str(place), name) for name in parameters if name in UNTOLD_PARAMETERS]
    assert not known
