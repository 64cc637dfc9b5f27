"""Texts that are compared with patterns: LIKE and regular expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.spark.in_process.evaluation import Family
from floodmark.spark.in_process.frame import LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.functions.constants import constant_number, constant_text, texts_of
from floodmark.spark.in_process.regular_expressions import translate

if TYPE_CHECKING:
    from floodmark.spark.in_process.frame import Values

FAMILY = Family()


@FAMILY.computes(exp.Like)
def _like(node: exp.Like, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    pattern = constant_text(node.expression, frame)
    if "\\" in pattern:
        raise UnsupportedQuery("a pattern with an escape")
    found = pc.match_like(texts_of(node.this, frame), pattern)
    return pc.invert(found) if node.args.get("negate") else found


@FAMILY.computes(exp.RegexpLike)
def _regex_match(node: exp.RegexpLike, frame: LazyFrame) -> Values:
    from pyarrow import compute as pc

    regex = translate(constant_text(node.expression, frame))
    return pc.match_substring_regex(texts_of(node.this, frame), regex)


@FAMILY.computes("get")
def _first_match(node: exp.Anonymous, frame: LazyFrame) -> Values:
    """Return a group of the first match of all, NULL where there is none."""
    from pyarrow import compute as pc

    matches, place = node.expressions
    if not isinstance(matches, exp.RegexpExtractAll) or constant_number(place, frame) != 0:
        raise UnsupportedQuery("an item of a list")
    if matches.args.get("position") or matches.args.get("parameters"):
        raise UnsupportedQuery("a search with options")
    group = matches.args.get("group")
    number = 1 if group is None else constant_number(group, frame)
    regex = translate(constant_text(matches.expression, frame), named=True)
    name = f"g{number}"
    if f"(?P<{name}>" not in regex:
        raise UnsupportedQuery("a group that is not there")
    return pc.struct_field(pc.extract_regex(texts_of(matches.this, frame), regex), name)
