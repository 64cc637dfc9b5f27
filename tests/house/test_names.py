"""Functions are verbs for actions, nouns for things; a name tells what it is of, and one thing."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.source_trees import HOUSE, module_paths, nodes_of, tree_of

SHAPES = HOUSE.parent / "tests/storage/records/record_shapes.json"
MOST = 0.0142
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
CONVERSIONS = frozenset(("as", "from", "to", "with", "without"))
"""What the field begins the names of functions with: `from_json`, `as_dict`, `with_column`."""
OF_TIME_OR_PLACE = frozenset(("after", "at", "before", "between", "of"))
"""What a noun may end with: `key_of(row)`, `rows_before`, `changes_between(old, new)`."""
BEGIN_WITH_PREPOSITION = 23
"""So many other functions begin with a preposition. It only goes down."""
END_WITH_PREPOSITION = 48
"""So many other functions end with a preposition. It only goes down."""
PARTICIPLES = frozenset(
    (
        "begun",
        "bound",
        "broken",
        "brought",
        "built",
        "caught",
        "chosen",
        "come",
        "cut",
        "done",
        "drawn",
        "found",
        "given",
        "gone",
        "grown",
        "held",
        "hidden",
        "kept",
        "known",
        "left",
        "lost",
        "made",
        "met",
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
UNTOLD_PARTS = frozenset(
    (
        "around",
        "asked",
        "begun",
        "brought",
        "carried",
        "counted",
        "culprits",
        "delivered",
        "found",
        "heard",
        "held",
        "judged",
        "met",
        "outward",
        "said",
        "settled",
        "spread",
        "stands",
        "told",
        "undone",
        "unneeded",
        "waning",
    )
)
"""Words that no part of a function's name is."""
WITH_UNTOLD_PARTS = {"check_asked", "delete_unneeded", "is_begun", "is_delivered"}
"""Functions that are called so today. It only shrinks."""
PHRASES = frozenset(
    (
        "add_up",
        "adds_up",
        "back_up",
        "bind_in",
        "carry_over",
        "copy_out",
        "copy_to",
        "distinct_on",
        "hang_up",
        "has_left_over",
        "join_on",
        "lay_out",
        "not_in",
        "print_in",
        "print_over",
        "read_in",
    )
)
"""Verbs of two words, and words of SQL: `x NOT IN (…)`, `DISTINCT ON`."""
LOCALS_CALLED_FOUND = 232
"""So often a variable is called `found`, which does not tell what is. It only goes down."""
UNTOLD_PARAMETERS = frozenset(("begun", "found", "stands", "told"))
RECORDED = frozenset(json.loads(SHAPES.read_text())["kinds"])
"""Classes whose names and fields stand in the records of warehouses: they stay."""
SHARED = {"Floodmark"}
"""The connection, and the dialect that sqlglot finds by its name."""
NOUNS = frozenset(("Cut", "Deployed", "letters", "findings"))
"""Types and fields that are the house's nouns: a cut of tables, what is deployed, dead letters."""


@cache
def modules() -> dict[Path, ast.Module]:
    return {path: tree_of(path) for path in module_paths()}


def functions() -> Iterator[str]:
    # sqlglot finds the printer of a node by its name: `ordered_sql`.
    for path in module_paths():
        for node in nodes_of(path):
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


def test_few_functions_begin_or_end_with_a_preposition() -> None:
    words = [(name, name.split("_")) for name in functions() if name not in PHRASES]
    begin = sorted(n for n, (first, *_) in words if first in PREPOSITIONS - CONVERSIONS)
    ends = PREPOSITIONS - OF_TIME_OR_PLACE
    end = sorted(n for n, (*rest, last) in words if rest and last in ends)
    end = [name for name in end if not name.startswith(("is_", "has_"))]
    assert len(begin) <= BEGIN_WITH_PREPOSITION, begin
    assert len(end) <= END_WITH_PREPOSITION, end


def test_no_part_of_a_name_is_a_word_that_tells_nothing() -> None:
    names = {name for name in functions() if set(name.split("_")) & UNTOLD_PARTS}
    assert names <= WITH_UNTOLD_PARTS


def fields(node: ast.ClassDef) -> Iterator[str]:
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            yield part.target.id.strip("_")


def attributes(path: Path) -> Iterator[str]:
    """Yield the attributes that the code of a module assigns to: `self.name = …`."""
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr.strip("_")


def constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                yield target.id, node.value


def types(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the classes of a module, and the names that it gives to types."""
    yield from ((node.name, node) for node in tree.body if isinstance(node, ast.ClassDef))
    for name, value in constants(tree):
        if name != name.upper() and isinstance(value, ast.Subscript | ast.BinOp):
            yield name, value


def test_a_name_tells_what_it_is_of() -> None:
    known = []
    for path, tree in modules().items():
        place = str(path.relative_to(HOUSE))
        nodes = nodes_of(path)
        names = [path.stem, *map(defined, nodes)]
        names += [name.strip("_").lower() for name, _ in constants(tree)]
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        names += {f for c in classes if c.name not in RECORDED for f in fields(c)} - NOUNS
        names += {*attributes(path)} - NOUNS
        known += [(place, name) for name in names if name in UNTOLD]
        parameters = [node.arg for node in nodes if isinstance(node, ast.arg)]
        known += [(place, name) for name in parameters if name in UNTOLD_PARAMETERS]
    assert not known


def test_few_variables_are_called_found() -> None:
    names = (n for p in module_paths() for n in nodes_of(p) if isinstance(n, ast.Name))
    found = [n for n in names if isinstance(n.ctx, ast.Store) and n.id.strip("_") == "found"]
    assert len(found) <= LOCALS_CALLED_FOUND


def test_a_class_is_not_called_by_a_participle() -> None:
    names = {name for tree in modules().values() for name, _ in types(tree)} - RECORDED - NOUNS
    words = {name for name in names if re.fullmatch("_*[A-Z][a-z]+", name)}
    assert not {name for name in words if is_participle(name.strip("_").lower())}


def test_no_two_types_share_a_name() -> None:
    meanings = defaultdict(set)
    for path, tree in modules().items():
        for name, node in types(tree):
            if not name.startswith("_"):
                meaning = str(path) if isinstance(node, ast.ClassDef) else ast.unparse(node)
                meanings[name].add(meaning)
    assert {name for name, of in meanings.items() if len(of) > 1} == SHARED
