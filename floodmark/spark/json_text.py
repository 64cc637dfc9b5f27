"""JSON in text, as strictly as it is defined.

Spark's parsers stop at the end of the first value, whatever follows it, and take single quotes and
NaN where they are not told otherwise.
"""

from __future__ import annotations

from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.json_text import NO_CHARACTER, PAIRS

_ESCAPE = "\\u"
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


def escapes_no_character(text: str) -> str:
    """Return the Spark text of the test that an escape is the character zero or half of a pair."""
    rest = f"regexp_replace({text}, {quote(PAIRS)}, ' ')"
    return f"contains({text}, {quote(_ESCAPE)}) AND {rest} RLIKE {quote(NO_CHARACTER)}"
