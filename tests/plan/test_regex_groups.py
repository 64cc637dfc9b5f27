"""Spark is asked whether a group took part in a match only where it may not have."""

from __future__ import annotations

from floodmark.catalog.functions.regex_groups import every_match, first_group, first_match


def test_groups_that_always_take_part_are_taken_as_they_are() -> None:
    assert first_match("`s`", "(a)(b)") == (
        "CASE WHEN `s` RLIKE '(a)(b)' THEN "
        "array(regexp_extract(`s`, '(a)(b)', 1), regexp_extract(`s`, '(a)(b)', 2)) END"
    )
    assert (
        first_group("`s`", "a?") == "CASE WHEN `s` RLIKE 'a?' THEN regexp_extract(`s`, 'a?', 0) END"
    )
    assert every_match("`s`", "(a)")[1] == "array(get(regexp_extract_all(`s`, '(a)', 1), __i))"


def test_others_are_there_where_the_match_goes_on_with_them() -> None:
    asked = r"regexp_instr(`s`, '(a)?') = regexp_instr(`s`, '(?>(a)?)\\1')"
    assert asked in first_match("`s`", "(a)?")
    assert asked in first_group("`s`", "(a)?")
    assert r"(?>(?x)(a)? # a\n)\\1" in first_group("`s`", "(?x)(a)? # a")
