"""Texts are parsed once while there is room for them, and refused once."""

from __future__ import annotations

import pytest

from floodmark.limits import LIMITS
from floodmark.spark.in_process.frame import UnsupportedQuery
from floodmark.spark.in_process.texts import once_per_text, parse


def test_the_last_texts_are_kept_by_their_length() -> None:
    asked = []

    @once_per_text
    def first(text: str) -> str:
        asked.append(text[0])
        if text.startswith("!"):
            raise UnsupportedQuery("no")
        return text[0]

    a, b, c = (letter * (LIMITS.in_process_texts // 5 * 2) for letter in "abc")
    assert [first(text) for text in (a, b, a, c)] == ["a", "b", "a", "c"]
    assert asked == ["a", "b", "c"]
    assert first(a) == "a" and first(b) == "b", "the one that was asked least lately went"
    assert asked == ["a", "b", "c", "b"]
    for _ in range(2):
        with pytest.raises(UnsupportedQuery, match="no"):
            first("!")
    assert asked[4:] == ["!"]


@pytest.mark.parametrize("text", ["date_format(t, 'YYYY')", "date_trunc('M', t)", "a +"])
def test_what_the_parser_reads_otherwise_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedQuery):
        parse(text)
