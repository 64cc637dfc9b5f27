from __future__ import annotations

from pathlib import Path

import pytest
from sqlglot import exp

from floodmark.sql.normalise import to_sql
from floodmark.sql.parse import parse_script, parse_statement
from floodmark.sql.parser.statement import STATEMENTS
from floodmark.sql.spans import span_of
from floodmark.sql.statements import Statement
from floodmark.sql.words import FIRST_WORDS

CORPUS = parse_script((Path(__file__).parent / "corpus.sql").read_text(), "corpus.sql")


@pytest.mark.parametrize("statement", CORPUS, ids=lambda s: f"{s.span.line}-{type(s).__name__}")
def test_prints_stably(statement: Statement) -> None:
    text = to_sql(statement)
    again = parse_statement(text)
    assert type(again) is type(statement)
    assert to_sql(again) == text


@pytest.mark.parametrize("statement", CORPUS, ids=lambda s: f"{s.span.line}-{type(s).__name__}")
def test_parsing_the_original_alone_gives_the_same(statement: Statement) -> None:
    assert to_sql(parse_statement(statement.sql)) == to_sql(statement)


def _expressions(value: object) -> list[exp.Expression]:
    if isinstance(value, exp.Expression):
        return [value]
    if isinstance(value, tuple):
        return [e for item in value for e in _expressions(item)]
    if hasattr(value, "__dataclass_fields__"):
        return [
            e for name in value.__dataclass_fields__ for e in _expressions(getattr(value, name))
        ]
    return []


_SPANNED = (
    exp.Query, exp.Column, exp.Anonymous, exp.Literal, exp.Binary, exp.Table, exp.Alias, exp.Star,
    exp.Where, exp.Group, exp.Order, exp.From, exp.Join, exp.Having, exp.Window, exp.Case, exp.Cast,
)  # fmt: skip


@pytest.mark.parametrize("statement", CORPUS, ids=lambda s: f"{s.span.line}-{type(s).__name__}")
def test_every_node_knows_its_place(statement: Statement) -> None:
    for root in _expressions(statement):
        for node in root.find_all(*_SPANNED):
            if isinstance(node, exp.Literal) and node.name == "1" and "start" not in node.meta:
                continue  # the default of FETCH NEXT ROW and of substring(… FOR …)
            span = span_of(node, statement.span)
            assert span is not None and span.text.strip(), repr(node)
            assert statement.span.start <= span.start < span.end <= statement.span.end


def test_spans_are_exact() -> None:
    statement = parse_statement("SELECT 1;\n".replace("1;", "a + f(b) AS c FROM t WHERE x = 2"))
    query = _expressions(statement)[0]
    texts = {type(n).__name__: span_of(n, statement.span).text for n in query.walk()}
    assert texts["Select"] == "SELECT a + f(b) AS c FROM t WHERE x = 2"
    assert texts["Add"] == "a + f(b)"
    assert texts["Anonymous"] == "f(b)"
    assert texts["Alias"] == "a + f(b) AS c"
    assert texts["Where"] == "WHERE x = 2"
    assert texts["From"] == "FROM t"


def test_an_empty_list_of_options_is_none() -> None:
    view = "CREATE MATERIALIZED VIEW v WITH (refresh = 'full') AS SELECT 1 AS a"
    assert to_sql(parse_statement(f"{view} WITH ()")) == to_sql(parse_statement(view))


def test_each_first_word_has_its_reader() -> None:
    assert sorted({*STATEMENTS, "select", "values", "with"}) == list(FIRST_WORDS)
