"""Definitions at rest that this version cannot read: the little that their text still says."""

from __future__ import annotations

import re
from dataclasses import replace

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import (
    FUNCTION_PREFIX,
    SINK_PREFIX,
    CatalogObject,
    ObjectKind,
    name_of,
)
from floodmark.errors import FloodmarkError, Span
from floodmark.sql import statements as s

OTHER_STATE = "E0855"
"""The code of a refusal that is of the state at rest: the definition is right as it is."""
_WORDS = "|".join(kind.value.replace(" ", r"\s+") for kind in s.KindWord)
_HEAD = re.compile(rf"\s*CREATE\s+(?:OR\s+REPLACE\s+)?({_WORDS})\b", re.IGNORECASE)
_NAME = r'(?:"(?:[^"]|"")+"|[\w$]+)'
_GAP = r"(?:\s|--[^\n]*\n|/\*.*?\*/)+"
_FULL = rf"{_NAME}(?:\s*\.\s*{_NAME})?"
_INTO = re.compile(
    rf"\s*CREATE{_GAP}(?:OR{_GAP}REPLACE{_GAP})?SINK{_GAP}(?:IF{_GAP}NOT{_GAP}EXISTS{_GAP})?"
    rf"{_FULL}{_GAP}INTO{_GAP}({_FULL})",
    re.IGNORECASE | re.DOTALL,
)
_PART = re.compile(r'"((?:[^"]|"")+)"|([\w$]+)')


def refused_definition(
    sql: str, key: str, error: FloodmarkError, file: str | None, line: int, column: int
) -> s.RefusedDefinition:
    """Return the placeholder of a definition that is refused, with the name that its key has."""
    kind = _kind_of(sql, key)
    into = _INTO.match(sql) if kind is s.KindWord.SINK else None
    return s.RefusedDefinition(
        name=_object_name(*name_of(key).rsplit(".", 1)),
        kind=kind,
        into=None if into is None else _object_name(*_parts(into[1])),
        refused=error,
        span=Span(0, len(sql), line, column, file, sql),
    )


def refusal_of_object(obj: CatalogObject, refused: FloodmarkError) -> FloodmarkError:
    """Return the refusal of an object's definition as another statement meets it."""
    what = f"the definition of {obj.kind.value} {obj.name} is refused: {refused.message}"
    hint = f"DROP {obj.name}, or change its definition"
    return type(refused)(
        refused.code, what, hint=refused.hint if refused.code == OTHER_STATE else hint
    )


def with_names_of_texts(catalog: Catalog) -> Catalog:
    """Return a restored catalog in which unread objects read what their texts may name.

    What reads them already is not among it: no object feeds itself. Sinks write tables that are
    there, or outside.
    """
    tables = {key for key, o in catalog.objects.items() if o.kind is ObjectKind.TABLE}
    for obj in catalog.objects.values():
        if isinstance(obj.statement, s.RefusedDefinition):
            target = obj.target if obj.target in tables else None
            bare = catalog.replace([replace(obj, reads=(), target=target)])
            below = _fed_by(obj.key, bare)
            reads = tuple(k for k in catalog.objects if k not in below and _may_name(obj, k))
            read = replace(obj, reads=reads, target=target)
            catalog = catalog if read == obj else catalog.replace([read])
    return catalog


def _fed_by(key: str, catalog: Catalog) -> set[str]:
    """Return an object and all that it flows into."""
    seen, left = set[str](), [key]
    while left:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            target = catalog.objects[one].target
            left += [k for k, o in catalog.objects.items() if one in o.reads]
            left += [target] if target is not None and target in catalog.objects else []
    return seen


def _may_name(obj: CatalogObject, key: str) -> bool:
    """Tell whether a text calls a function, or its words are the name of a relation.

    Columns of tables, and of sources that store what they read, may be called as relations are.
    """
    if key.startswith(FUNCTION_PREFIX):
        return re.search(rf"\b{re.escape(name_of(key))}\b\"?\s*\(", obj.sql, re.I) is not None
    bare = obj.kind is ObjectKind.SOURCE and re.search(r"\bTRANSFORM\b", obj.sql, re.I) is None
    if bare or key.startswith(SINK_PREFIX) or obj.kind in (ObjectKind.TABLE, ObjectKind.FUNCTION):
        return False
    said = {name for part in _PART.finditer(obj.sql) for name in _parts(part[0])}
    return {*name_of(key).split(".")} <= said


def _kind_of(sql: str, key: str) -> s.KindWord:
    head = _HEAD.match(sql)
    said = None if head is None else s.KindWord(" ".join(head[1].upper().split()))
    if key.startswith(SINK_PREFIX):
        return s.KindWord.SINK
    if key.startswith(FUNCTION_PREFIX):
        return said if said is s.KindWord.AGGREGATE else s.KindWord.FUNCTION
    return said or s.KindWord.VIEW


def _parts(text: str) -> list[str]:
    found = _PART.finditer(text)
    return [m[1].replace('""', '"') if m[1] else m[2].lower() for m in found]


def _object_name(*parts: str) -> s.ObjectName:
    return s.ObjectName(parts[-1], parts[0] if len(parts) > 1 else None, Span(0, 0, 1, 1))
