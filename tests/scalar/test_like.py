"""LIKE says what a matcher says that tries everything, and says it at once."""

from __future__ import annotations

import time

import pytest

from floodmark.scalar.functions.like import is_like
from floodmark.scalar.functions.model import RowError
from tests.scalar.like_cases import SLOW, drawn, naive


def said(text: str, pattern: str, escape: str) -> bool | None:
    try:
        return is_like(text, pattern, escape)
    except RowError:
        return None


def test_random_patterns_fit_what_the_naive_matcher_fits() -> None:
    cases = list(drawn(1, 4000))
    wrong = [case for case in cases if said(*case) is not naive(*case)]
    assert not wrong
    answers = [naive(*case) for case in cases]
    assert min(answers.count(answer) for answer in (True, False, None)) > 50


@pytest.mark.parametrize(("text", "pattern"), SLOW)
def test_many_wildcards_take_no_time(text: str, pattern: str) -> None:
    begun = time.process_time()
    assert not is_like(text, pattern)
    assert is_like(text + "b", pattern)
    assert not is_like(text, pattern.upper(), fold=True)
    assert time.process_time() - begun < 1


def test_capitals_are_equal_to_ilike_only() -> None:
    assert is_like("Straße ÄÖ", "STRASSE%".replace("SS", "_"), fold=True)
    assert is_like("aXb", "AxXB", "x", fold=True)
    assert not is_like("ABC", "a%")
