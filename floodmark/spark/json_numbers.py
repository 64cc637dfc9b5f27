"""Numbers in JSON, as they are written: Spark's parser reads fractions and exponents as doubles.

Before a line is parsed, each such number is made a text between two marks, and the marks are taken
from what was parsed. They hold the character zero, which no text has. Where a text of the line may
spell this character, they also hold the line's digest: no text holds its own.
"""

from __future__ import annotations

from floodmark.scalar.functions.quoting import quote
from floodmark.spark.json_text import TEXT

_SPACE = r"[ \t\r\n]"
_INTEGER = rf"(?!-0{_SPACE}*+[,}}\]])-?[0-9]++(?![.eE0-9])"
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+\-]?[0-9]++)?+"
_INEXACT = rf'\G((?:[^"\-0-9]++|{TEXT}|{_INTEGER})*+)({_NUMBER})(?={_SPACE}*+[,}}\]])'  # fmt: skip
"""The next number that is not a plain integer, and what stands before it. What is no JSON ends the
search, and a number before a colon is no value: no line becomes JSON by its marks."""
_CHANGES = (
    r"(?=[.eE\-])(?:\.(?:[0-9]*0|[0-9]{9,}+|(?<=[0-9]{8}\.)[0-9]++|(?<=\b0\.)00[0-9]*+)"
    rf"|(?<=[0-9])[eE][+\-]?[0-9]++|-0){_SPACE}*+[,}}\]]"
)
"""A line without such a number has none that a double would write otherwise: up to seven digits
before the point and eight behind it, the last one no zero, are exact and written in full."""
_ESCAPED = "\\u0000"
_ZERO = "char(0)"


def mark_numbers(line: str) -> str:
    """Return the Spark text of a line whose numbers keep their digits when it is parsed."""
    digest, zero = _digest(line), quote("\\" + _ESCAPED)
    number = f"concat('$1\"', {zero}, {digest}, {zero}, '$2', {zero}, {digest}, '\"')"
    exact = f"regexp_replace({line}, {quote(_INEXACT)}, {number})"
    return f"CASE WHEN {line} RLIKE {quote(_CHANGES)} THEN {exact} ELSE {line} END"


def unmark_numbers(cell: str, line: str) -> str:
    """Return the Spark text of what was parsed as a STRING from the marked line, without marks."""
    digest, zero = _digest(line), quote(_ESCAPED)
    number = f"substring_index(substring_index({cell}, {_ZERO}, 3), {_ZERO}, -1)"
    begin, end = f"concat('\"', {zero}, {digest}, {zero})", f"concat({zero}, {digest}, '\"')"
    nested = f"replace(replace({cell}, {begin}, ''), {end}, '')"
    return (
        f"CASE WHEN startswith({cell}, {_ZERO}) THEN {number} "
        f"WHEN contains({cell}, {zero}) THEN {nested} ELSE {cell} END"
    )


def _digest(line: str) -> str:
    backslash = quote("\\")
    return (
        f"CASE WHEN contains({line}, {backslash}) THEN CAST(xxhash64({line}) AS STRING) ELSE '' END"
    )
