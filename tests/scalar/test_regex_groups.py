"""Spark is asked whether a group took part in a match only where it may not have."""

from __future__ import annotations

from floodmark.scalar.functions.regex_groups import (
    every_match,
    first_match,
    group_of_first_match,
    may_be_absent,
)


def test_groups_that_always_take_part_are_taken_as_they_are() -> None:
    assert first_match("`s`", "(a)(b)") == (
        "CASE WHEN `s` RLIKE '(a)(b)' THEN "
        "array(regexp_extract(`s`, '(a)(b)', 1), regexp_extract(`s`, '(a)(b)', 2)) END"
    )
    assert group_of_first_match("`s`", "a?") == "get(regexp_extract_all(`s`, 'a?', 0), 0)"
    assert every_match("`s`", "(a)")[1] == "array(get(regexp_extract_all(`s`, '(a)', 1), __i))"


def test_others_are_there_where_the_match_goes_on_with_them() -> None:
    asked = r"regexp_instr(`s`, '(a)?') = regexp_instr(`s`, '(?>(a)?)\\1')"
    assert asked in first_match("`s`", "(a)?")
    assert asked in group_of_first_match("`s`", "(a)?")
    assert r"(?>(?x)(a)? # a\n)\\1" in group_of_first_match("`s`", "(?x)(a)? # a")


def test_what_a_group_stands_in_decides_whether_it_can_stay_out() -> None:
    always = [("(a|b)c*", 1), ("(a)+", 1), ("([(|?])(b)", 2), (r"\((a)\)?", 1), ("(?:x|y)(a)", 1)]
    perhaps = [("(a)?", 1), ("(a)|b", 1), ("((a)b)*", 2), ("(?:(a)|b)c", 1), ("(a){0,2}", 1),
               ("(?!(a))b", 1), ("(?<=(a))b", 1), ("(?x)(a)", 1), ("x(?:y(a))?", 1)]  # fmt: skip
    assert not any(may_be_absent(regex, i) for regex, i in always)
    assert all(may_be_absent(regex, i) for regex, i in perhaps)
