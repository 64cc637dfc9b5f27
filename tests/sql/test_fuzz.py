from __future__ import annotations

import time
from pathlib import Path

from hypothesis import given, settings, strategies as st

from floodmark.errors import FloodmarkError
from floodmark.sql.lexer import tokenize
from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_script, parse_statement
from floodmark.sql.statements import Statement

_TEXTS = [
    s.sql
    for name in ("corpus.sql", "seeds.sql")
    for s in parse_script((Path(__file__).parent / name).read_text())
]
_WORDS = sorted({text[t.start : t.end] for text in _TEXTS for t in tokenize(text)})


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(_TEXTS))
    words = [text[t.start : t.end] for t in tokenize(text)]
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(len(words) - 1, 0)))
        match draw(st.sampled_from(["drop", "double", "swap", "replace", "insert"])):
            case "drop":
                del words[at : at + 1]
            case "double":
                words[at:at] = words[at : at + 1]
            case "swap":
                words[at : at + 2] = reversed(words[at : at + 2])
            case "replace":
                words[at : at + 1] = [draw(st.sampled_from(_WORDS))]
            case "insert":
                words[at:at] = [draw(st.sampled_from(_WORDS))]
    return " ".join(words)


def _parse(text: str) -> tuple[Statement, ...]:
    start = time.process_time()
    try:
        return parse_script(text)
    except FloodmarkError as error:
        assert error.render()
        assert error.span is not None and 0 <= error.span.start <= error.span.end <= len(text)
        return ()
    finally:
        assert time.process_time() - start < 1


@settings(max_examples=400, deadline=None)
@given(mutated())
def test_mutated_statements_parse_or_are_refused(text: str) -> None:
    for statement in _parse(text):
        printed = to_sql(statement)
        assert to_sql(parse_statement(printed)) == printed


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_any_text_parses_or_is_refused(text: str) -> None:
    _parse(text)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(_WORDS), max_size=30))
def test_word_salad_parses_or_is_refused(words: list[str]) -> None:
    _parse(" ".join(words))
