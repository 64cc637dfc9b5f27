"""Texts become REAL, DOUBLE and JSONB as PostgreSQL reads them, at the ends of what they hold."""

from __future__ import annotations

import pytest

from floodmark.scalar.casts import from_text
from floodmark.scalar.functions.model import RowError
from floodmark.scalar.json_text import parse_json
from floodmark.scalar.types import DOUBLE, JSONB, REAL, SqlType
from tests.connectors.formats.test_exact_numbers import OBJECTS, ODD, numbers
from tests.postgres.cluster import missing, running

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
NOT_DECIMAL = {"0x1p3"}
"""Read by PostgreSQL 15 as C does."""


def text_read(text: str, type_: SqlType) -> str:
    """Return what the text is read as, in a form that tells the zeros apart."""
    try:
        return repr(from_text(text, type_))
    except RowError:
        return "refused"


def test_texts_become_floats_as_in_postgresql() -> None:
    asked = [(t, k) for t in (*numbers(), *ODD) if t not in NOT_DECIMAL for k in (REAL, DOUBLE)]
    with running() as server:
        said = server.ask([f"'{text}'::{type_}" for text, type_ in asked])
    for (text, type_), answer in zip(asked, said, strict=True):
        found = "refused" if answer.value is None else text_read(answer.value, type_)
        assert text_read(text, type_) == found, (text, str(type_), answer)


def test_objects_are_read_as_in_postgresql_or_refused() -> None:
    with running() as server:
        said = server.ask([f"'{text}'::jsonb" for text in OBJECTS])
    for text, answer in zip(OBJECTS, said, strict=True):
        read = text_read(text, JSONB)
        if read != "refused":
            assert answer.value is not None
            # Numbers with an exponent are doubles here, and as long as they are there.
            assert parse_json(from_text(text, JSONB)) == parse_json(answer.value), text
