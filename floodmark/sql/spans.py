"""Where a sqlglot expression stands in the text."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import Span


def span_of(expression: exp.Expression, within: Span | None) -> Span | None:
    """Return the place of an expression, or None for one that was not parsed here.

    `within` is any span of the same text, usually the statement's: it gives source and file. An
    expression that was made from others (after a rewrite) has the place of its parts.
    """
    if within is None or within.source is None:
        return None
    start, end = expression.meta.get("start"), expression.meta.get("end")
    if start is None or end is None:
        places = [n.meta for n in expression.walk() if "start" in n.meta and "end" in n.meta]
        if not places:
            return None
        start = min(place["start"] for place in places)
        end = max(place["end"] for place in places)
    return Span.at(within.source, start, end + 1, within.file)
