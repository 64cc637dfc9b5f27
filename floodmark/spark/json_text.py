"""JSON in text, as strictly as it is defined.

Spark's parsers stop at the end of the first value, whatever follows it, and take single quotes and
NaN where they are not told otherwise.
"""

from __future__ import annotations

from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.json_text import ENDLESS_OR_ZERO, NO_CHARACTER, PAIRS

_ESCAPE = "\\u"
TEXT = r'"(?:[^"\\]++|\\.)*+"'
_FAR = r"[0-9][eE][+\-]?[0-9]{3}|[0-9]{100}"
"""What has no such digits has no number that is too large or too small for a double."""
_NUMBERS = rf"{TEXT}|(-?[0-9][0-9.eE+\-]*+)"
STRICT = "'allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false'"
"""Options of `from_json`, as parts of a `map`."""


def is_one_value(text: str) -> str:
    """Return the Spark text of the test that a text is one JSON value and escapes are characters.

    Looks at the text alone where its first closing brace is its end, as in a flat object. Else what
    stands behind it in an array must be the second element: no text holds its own digest.
    """
    flat = (
        f"startswith(ltrim({text}), '{{') "
        f"AND length(substring_index({text}, '}}', 1)) + 1 = length(rtrim({text}))"
    )
    digest = f"CAST(xxhash64({text}) AS STRING)"
    second = f"get_json_object(concat('[', {text}, ',', {digest}, ']'), '$[1]')"
    one = f"({flat}) OR coalesce({second} = {digest}, FALSE)"
    return f"(({one}) AND NOT ({escapes_no_character(text)}))"


def jsonb(text: str) -> str:
    """Return the Spark text of a text's JSONB; NULL where it is none.

    Numbers with an exponent or many digits become doubles: one that a double cannot hold is none.
    """
    # Of a text there is no number, and the empty one is lost to nothing.
    lost = is_lost("try_cast(__n AS DOUBLE)", "__n")
    numbers = f"regexp_extract_all({text}, {quote(_NUMBERS)}, 1)"
    beyond = f"{text} RLIKE {quote(_FAR)} AND exists({numbers}, __n -> coalesce({lost}, FALSE))"
    value = f"to_json(try_parse_json({text}))"
    return f"CASE WHEN {is_one_value(text)} AND NOT ({beyond}) THEN {value} END"


def is_lost(value: str, text: str) -> str:
    """Return the Spark text of the test that a number became infinite or 0 and is written else."""
    far = f"({value} = 0 OR abs({value}) = CAST('Infinity' AS DOUBLE))"
    return f"({far} AND NOT {text} RLIKE {quote(ENDLESS_OR_ZERO)})"


def escapes_no_character(text: str) -> str:
    """Return the Spark text of the test that an escape is the character zero or half of a pair."""
    rest = f"regexp_replace({text}, {quote(PAIRS)}, ' ')"
    return f"contains({text}, {quote(_ESCAPE)}) AND {rest} RLIKE {quote(NO_CHARACTER)}"
