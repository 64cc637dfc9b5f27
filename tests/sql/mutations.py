"""Scripts with faults: tokens moved, values at the edge of their type, clauses of other statements.

The same seed gives the same scripts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from sqlglot import exp

from floodmark.errors import FloodmarkError
from floodmark.sql.lexer import tokenize
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_script
from floodmark.sql.statements import Statement
from floodmark.sql.words import RESERVED
from floodmark.testing.program import load
from tests.sql.field_mutations import examples, parts_of, refused, setup as defined_before, trees_of

_TESTS = Path(__file__).parent.parent
_EDGES = (
    "NULL", "DEFAULT", "''", "'\0'", "'\ud800'", "'%_%%__%%'", "'1e400'", "'9999-12-31'", "'NaN'",
    "-1", "0", "1.5", "1e308", "3000000000", "9223372036854775807", "9223372036854775808",
    "1" + "0" * 60, "$$x$$", "*", "t.*", "now()", "proctime()", "random()", "count(*)",
    "ARRAY[]", "ROW(1, 2)", "int[][][]", "struct<a struct<a int>>", "map(text, int)", '"é"',
    '"A"', '"a b"', "public", "floodmark.epochs", "INTERVAL '1 month'", "(SELECT 1)",
)  # fmt: skip

_OF_ANY_KIND, _TRIES = 0.1, 6
_KINDS = (
    "TABLE", "SOURCE", "MATERIALIZED VIEW", "VIEW", "SINK", "INDEX", "FUNCTION", "AGGREGATE",
    "SCHEMA",
)  # fmt: skip
_MORE = (
    "DROP {k} {n}", "DROP {k} IF EXISTS {n} CASCADE", "ALTER {k} {n} RENAME TO {c}",
    "ALTER {k} {n} DROP COLUMN {c}", "ALTER {k} {n} DROP COLUMN {c} CASCADE",
    "ALTER {k} {n} ADD COLUMN z INT DEFAULT {e}", "ALTER {k} {n} RENAME COLUMN {c} TO z",
    "ALTER {k} {n} SET (ttl = {e})", "ALTER {k} {n} RESET (ttl)", "ALTER {k} {n} AS SELECT {e}",
    "ALTER MATERIALIZED VIEW {n} TO TABLE", "INSERT INTO {n} VALUES ({e}, {e})",
    "INSERT INTO {n} ({c}) VALUES ({e}) RETURNING *", "UPDATE {n} SET {c} = {e}",
    "DELETE FROM {n} WHERE {c} = {e}", "SELECT * EXCEPT ({c}) FROM {n} ORDER BY 1 LIMIT {e}",
    "EXPLAIN SELECT {c}, {e} FROM {n} GROUP BY {c}", "EXPLAIN CREATE {k} z AS SELECT * FROM {n}",
    "CREATE MATERIALIZED VIEW z AS SELECT *, {e} AS e FROM {n}", "DESCRIBE {n}", "SHOW {c}",
    "CREATE TABLE z AS SELECT {c}, {e} AS e FROM {n}", "SET {c} = {e}", "SET timezone = {e}",
    "CREATE SINK z INTO {n} AS SELECT {e}", "CREATE {k} z (a INT, b INT AS ({e}), c INT AS (b))",
    "SHOW TABLES LIKE {e}", "SHOW CREATE {k} {n}", "CREATE INDEX z ON {n} ({c})",
    "WITH q AS (SELECT * FROM {n}) SELECT {e} FROM q JOIN q AS r USING ({c})",
    "SELECT {c}, sum({e}) OVER (ORDER BY {c}) FROM {n}", "SELECT {e} UNION ALL SELECT {c} FROM {n}",
)  # fmt: skip


@cache
def scripts() -> tuple[str, ...]:
    """Return the scripts of the programs and of the golden plans."""
    found = [load(path).sql for path in sorted((_TESTS / "programs").glob("*.txt"))]
    for path in sorted((_TESTS / "golden").glob("[!n]*.yaml")):
        head: dict[str, Any] = yaml.safe_load(path.read_text())
        setup = head.get("setup", "")
        found += [f"{setup}\n{case['sql']}" for case in head["cases"] if case.get("sql")]
    found += [s.sql for s in parse_script((Path(__file__).parent / "corpus.sql").read_text())]
    before = defined_before()
    found += [f"{before}\n{example.sql}" for example in (*examples(), *refused())]
    return tuple(found)


@cache
def _words() -> tuple[str, ...]:
    texts = {t[k.start : k.end] for t in scripts() for k in tokenize(t)}
    return tuple(sorted(texts - {""}))


@cache
def _statements() -> tuple[tuple[Statement, ...], ...]:
    parsed = []
    for text in scripts():
        try:
            parsed.append(parse_script(text))
        except FloodmarkError:
            continue
    return tuple(parsed)


@cache
def _values() -> dict[tuple[type, str], list[Any]]:
    """Return what fields of statements and of their parts are given, by class and name."""
    found: dict[tuple[type, str], list[Any]] = {}
    for statement in (s for script in _statements() for s in script):
        for part in parts_of(statement):
            for f in fields(part):
                found.setdefault((type(part), f.name), []).append(getattr(part, f.name))
    return found


@cache
def _expressions() -> dict[str, list[Any]]:
    """Return what the arguments of query nodes are given, by their name."""
    found: dict[str, list[Any]] = {}
    for statement in (s for script in _statements() for s in script):
        for tree in trees_of(statement):
            for node in tree.walk():
                for name, value in node.args.items():
                    if value:
                        found.setdefault(name, []).append(value)
    return found


def mutated(seed: int) -> str:
    """Return one script with faults: most often one that parses, for the planner to look at."""
    draw = random.Random(seed)
    text = ""
    for _ in range(1 if draw.random() < _OF_ANY_KIND else _TRIES):
        text = draw.choice((_by_tokens, _by_fields, _by_fields))(draw)
        if draw.random() < 0.5:
            text = f"{text.rstrip().rstrip(';')};\n{_more(text, draw)}"
        if _parses(text):
            break
    return text


def _parses(text: str) -> bool:
    try:
        parse_script(text)
    except FloodmarkError:
        return False
    return True


def _more(text: str, draw: random.Random) -> str:
    """Return a statement about what a script has defined."""
    words = re.findall(r"[A-Za-z_]\w*", text) or ["t"]
    names = [n for k, n in pairwise(words) if k.lower() in ("table", "source", "view", "sink")]
    plain = [w for w in words if w.lower() not in RESERVED]
    name, column = draw.choice(names or ["t"]), draw.choice(plain or ["a"])
    filled = draw.choice(_MORE).replace("{n}", name).replace("{c}", column)
    return filled.replace("{e}", draw.choice(_EDGES)).replace("{k}", draw.choice(_KINDS))


def _by_tokens(draw: random.Random) -> str:
    text = draw.choice(scripts())
    words = [text[t.start : t.end] for t in tokenize(text)]
    for _ in range(draw.randint(1, 2)):
        at = draw.randrange(len(words))
        known = _words() if draw.random() < 0.2 else words
        word = draw.choice(_EDGES) if draw.random() < 0.5 else draw.choice(known)
        match draw.choice(("drop", "double", "swap", "replace", "replace", "insert")):
            case "drop":
                del words[at : at + 1]
            case "double":
                words[at:at] = words[at : at + 1]
            case "swap":
                words[at : at + 2] = reversed(words[at : at + 2])
            case "replace":
                words[at : at + 1] = [word]
            case "insert":
                words[at:at] = [word]
        words = words or [word]
    return " ".join(words)


def _by_fields(draw: random.Random) -> str:
    """Return a script one statement of which has another value in one of its fields."""
    script = list(draw.choice(_statements()))
    at = draw.randrange(len(script))
    for _ in range(draw.randint(1, 2)):
        script[at] = (
            _other_tree(script[at], draw) if draw.random() < 0.6 else _other(script[at], draw)
        )
    texts = []
    for statement in script:
        try:
            texts.append(to_sql(statement))
        except Exception:
            # What the parser never gives has no text.
            texts.append(statement.sql)
    return ";\n".join(texts)


def _other(statement: Any, draw: random.Random) -> Any:
    """Return a statement, one field of which, or of a part of which, is another one's."""
    path = draw.choice([(), *_paths(statement)])
    return _changed(statement, path, draw)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for f in fields(value):
        inner = getattr(value, f.name)
        for i, one in enumerate(inner if isinstance(inner, tuple) else (inner,)):
            if is_dataclass(one) and type(one).__module__.startswith("floodmark.sql"):
                here = (*path, (f.name, i if isinstance(inner, tuple) else None))
                yield here
                yield from _paths(one, here)


def _changed(value: Any, path: Sequence[tuple[str, int | None]], draw: random.Random) -> Any:
    if path:
        (name, i), *rest = path
        inner = getattr(value, name)
        if i is None:
            return replace(value, **{name: _changed(inner, rest, draw)})
        changed = (*inner[:i], _changed(inner[i], rest, draw), *inner[i + 1 :])
        return replace(value, **{name: changed})
    names = [f.name for f in fields(value) if f.init and "span" not in f.name]
    name = draw.choice(names or ["span"])
    present = getattr(value, name)
    others = _values().get((type(value), name), [present])
    if isinstance(present, tuple) and present and draw.random() < 0.5:
        kept = draw.sample(present, draw.randint(0, len(present)))
        return replace(value, **{name: tuple(kept)})
    return replace(value, **{name: draw.choice(others)})


def _other_tree(statement: Any, draw: random.Random) -> Any:
    """Return a statement with another argument in a node of its query or expressions."""
    trees = list(trees_of(statement))
    if not trees:
        return _other(statement, draw)
    tree = draw.choice(trees)
    copied = tree.copy()
    node = draw.choice(list(copied.walk()))
    name = draw.choice(list(node.arg_types) or ["this"])
    present = node.args.get(name)
    if isinstance(present, list) and present and draw.random() < 0.4:
        node.set(name, draw.sample(present, draw.randint(0, len(present))))
    else:
        value = draw.choice(_expressions().get(name, [None]))
        many = isinstance(value, list)
        one = [v.copy() for v in value if isinstance(v, exp.Expression)] if many else value
        node.set(name, value.copy() if isinstance(value, exp.Expression) else one)
    return _with_tree(statement, tree, copied)


def _with_tree(value: Any, old: exp.Expression, new: exp.Expression) -> Any:
    """Return a statement in which another expression stands in the place of one."""
    if value is old:
        return new
    if isinstance(value, tuple):
        return tuple(_with_tree(one, old, new) for one in value)
    if is_dataclass(value) and type(value).__module__.startswith("floodmark.sql"):
        parts = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        return replace(value, **{k: _with_tree(v, old, new) for k, v in parts.items()})
    return value
