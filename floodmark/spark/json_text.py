"""JSON in text, as strictly as it is defined.

Spark's parsers stop at the end of the first value, whatever follows it, and take single quotes and
NaN where they are not told otherwise.
"""

from __future__ import annotations

STRICT = "'allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false'"
"""Options of `from_json`, as parts of a `map`."""


def is_one_value(text: str) -> str:
    """Return the Spark text of the test that nothing follows the first JSON value of a text.

    Looks at the text alone where its first closing brace is its end, as in a flat object. Else what
    stands behind it in an array must be the second element: no text holds its own digest.
    """
    flat = (
        f"startswith(ltrim({text}), '{{') "
        f"AND length(substring_index({text}, '}}', 1)) + 1 = length(rtrim({text}))"
    )
    digest = f"CAST(xxhash64({text}) AS STRING)"
    second = f"get_json_object(concat('[', {text}, ',', {digest}, ']'), '$[1]')"
    return f"(({flat}) OR coalesce({second} = {digest}, FALSE))"
