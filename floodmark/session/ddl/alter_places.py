"""Places of errors of an ALTER: in the statement, or in the definition that it changes.

The definition after an ALTER is a generated text that no file has, and so is the INSERT that fills
a table once. Errors in such a text need a place that the user has written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from floodmark.catalog.objects import catalog_name
from floodmark.errors import FloodmarkError, Span
from floodmark.sql import statements as s
from floodmark.sql.printer.parts import option_sql
from floodmark.warehouse.deployed import Deployed


@contextmanager
def place_errors(statement: s.Statement, deployed: Deployed) -> Iterator[None]:
    """Give errors of an ALTER or CREATE TABLE … AS a place in text that the user has written."""
    try:
        yield
    except FloodmarkError as problem:
        if isinstance(statement, s.Alter | s.CreateTableAs) and problem.span is not None:
            # What the altered object said before is not what is wrong with it.
            own, objects = catalog_name(statement.name), deployed.catalog.objects.values()
            filed = (o.span for o in objects if o.span.file is not None and o.name != own)
            written = {statement.span.source, *(span.source for span in filed)}
            if problem.span.source not in written - {None}:
                text = problem.span.text
                problem.span = _option_span(statement, text) or _find_span(statement.span, text)
        raise


def _option_span(statement: s.Statement, printed: str) -> Span | None:
    """Return the place of an option of the statement that has such a text in a definition."""
    options: tuple[s.Option, ...] = getattr(statement, "options", ())
    return next((option.span for option in options if option_sql(option) == printed), None)


def _find_span(statement: Span, text: str) -> Span:
    """Return the only place of a text in a statement; the statement where there is none."""
    source = statement.source or ""
    whole = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)
    matches = list(whole.finditer(source, statement.start, statement.end)) if text else []
    if len(matches) != 1:
        return statement
    return Span.at(source, matches[0].start(), matches[0].end(), statement.file)
