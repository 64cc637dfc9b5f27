"""The page of options is that of the one table, which says what the engine does."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from floodmark.catalog import option_table
from floodmark.catalog.option_table import (
    CONNECTORS,
    OPTIONS,
    OptionPlace,
    OptionSpec,
    default_of,
    specs_of,
)
from floodmark.catalog.option_values import Boolean, Keyword, Text, UnfitError
from floodmark.connectors import registry
from floodmark.errors import FloodmarkError
from floodmark.plan.declaration import TtlMode
from floodmark.scalar.casts import FALSE_TEXTS, TRUE_TEXTS, truth_of
from floodmark.stream.ndu.mode import DeterminismMode
from floodmark.stream.objects.external_sink import SinkType
from tests.program_reference import compile_sql
from tests.sql.planned_scripts import Planner

ROOT = Path(__file__).parents[2]
_TABLES = (
    "CREATE TABLE base (k INT PRIMARY KEY, v BIGINT);"
    "CREATE TABLE target (k INT PRIMARY KEY, v BIGINT);"
)
_FORMS = {
    OptionPlace.CONNECTED: "CREATE SOURCE x (k INT) WITH (connector = 'files', path = 'p', {})",
    OptionPlace.FILES: "CREATE SOURCE x (k INT) WITH (connector = 'files', path = 'p', "
    "format = 'csv', {})",
    OptionPlace.DELTA: "CREATE SOURCE x (k INT) WITH (connector = 'delta', path = 'p', {})",
    OptionPlace.TABLE: "CREATE TABLE x (k INT PRIMARY KEY) WITH ({})",
    OptionPlace.TRANSFORM: "CREATE SOURCE x (k INT) WITH (connector = 'files', path = 'p') "
    "TRANSFORM USING (SELECT k FROM x) WITH ({})",
    OptionPlace.TABLE_AS: "CREATE TABLE x WITH ({}) AS SELECT k, v FROM base",
    OptionPlace.MATERIALIZED_VIEW: "CREATE MATERIALIZED VIEW x AS SELECT k FROM base WITH ({})",
    OptionPlace.SINK_INTO: "CREATE SINK x INTO target AS SELECT k, v FROM base WITH ({})",
    OptionPlace.SINK_FILES: "CREATE SINK x AS SELECT k, v FROM base "
    "WITH (connector = 'files', path = 'p', format = 'csv', type = 'retract', {})",
    OptionPlace.SINK_CSV: "CREATE SINK x AS SELECT k, v FROM base "
    "WITH (connector = 'files', path = 'p', format = 'csv', type = 'retract', {})",
    OptionPlace.SINK_DELTA: "CREATE SINK x AS SELECT k, v FROM base "
    "WITH (connector = 'delta', path = 'p', type = 'retract', {})",
    OptionPlace.COPY_CSV: "COPY base TO '/tmp/x.csv' WITH ({})",
}  # fmt: skip
"""A definition that a yes or no, or one of a few words, is put into, by what it is of."""
_CHECKED = (
    OptionPlace.TABLE_AS, OptionPlace.MATERIALIZED_VIEW, OptionPlace.SINK_INTO,
    OptionPlace.SINK_FILES, OptionPlace.SINK_CSV, OptionPlace.SINK_DELTA, OptionPlace.COPY_CSV,
)  # fmt: skip
"""Whose errors say no more than the table."""


def test_the_page_is_up_to_date() -> None:
    path = ROOT / "docs" / "generate_options.py"
    spec = importlib.util.spec_from_file_location("generate_options", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (ROOT / "docs" / "options.md").read_text() == module.page()


def test_each_option_has_one_entry_a_place_and_a_default_of_its_type() -> None:
    places = [(spec.name, place) for spec in OPTIONS for place in spec.applies_to]
    assert len(set(places)) == len(places)
    for spec in OPTIONS:
        assert spec.doc.endswith(".") and spec.applies_to, spec.name
        if spec.default is not None:
            spec.parse.parse(spec.default)
        if spec.parse.example and not isinstance(spec.parse, Text):
            spec.parse.parse(spec.parse.example)


def test_each_connector_has_options() -> None:
    assert {*CONNECTORS} == {*registry.CONNECTORS}


def _refused(form: str, name: str, value: str) -> str | None:
    try:
        Planner().script(_TABLES + form.replace("{}", f"{name} = '{value}'"))
    except FloodmarkError as error:
        return error.message
    return None


@pytest.mark.parametrize(
    ("place", "spec"),
    [
        pytest.param(place, spec, id=f"{place.name}-{spec.name}")
        for place in _FORMS
        for spec in specs_of(place).values()
        if isinstance(spec.parse, Boolean)
    ],
)
def test_truth_is_spelt_in_one_way(place: OptionPlace, spec: OptionSpec) -> None:
    """Every spelling of yes or no means the same, and another text is told of alike."""
    for texts in (TRUE_TEXTS, FALSE_TEXTS):
        told = {_refused(_FORMS[place], spec.name, text) for text in ("TRUE", "False")}
        spelt = {
            _refused(_FORMS[place], spec.name, form)
            for text in texts
            for form in (text, text.upper(), text.title())
        }
        assert {t and t.split(":")[-1] for t in spelt} <= {t and t.split(":")[-1] for t in told}
    other = _refused(_FORMS[place], spec.name, "maybe")
    assert other is not None
    assert "neither true nor false" in other or "is not available" in other


def test_a_text_is_true_as_it_is_in_postgresql() -> None:
    assert [truth_of(t) for t in ("true", "T", "on", "YES", " 1 ", "tru", "y")] == [True] * 7
    assert [truth_of(t) for t in ("false", "f", "OFF", "No", "0", "of", "n")] == [False] * 7
    assert [truth_of(t) for t in ("", "o", "2", "yess", "null", "ja")] == [None] * 6


@pytest.mark.parametrize(
    ("place", "spec"),
    [
        pytest.param(place, spec, id=f"{place.name}-{spec.name}")
        for place in _CHECKED
        for spec in specs_of(place).values()
        if f"{spec.name} = " not in _FORMS[place] and spec.name != "encode"
    ],
)
def test_a_value_is_right_or_wrong_by_the_table(place: OptionPlace, spec: OptionSpec) -> None:
    """What the table takes is taken, words in whatever case; else its words say what is wrong."""
    words = spec.parse.words if isinstance(spec.parse, Keyword) else ()
    for word in (*words, *(word.upper() for word in words)):
        refused = _refused(_FORMS[place], spec.name, word)
        assert refused is None or f"= '{word}'" not in refused, refused
    for text in ("nonsense", "", ";;", "0"):
        try:
            spec.parse.parse(text)
        except UnfitError as error:
            told = f"{spec.name} = '{text}' {error.problem}"
            assert _refused(_FORMS[place], spec.name, text) == told


def test_a_sink_that_says_append_only_in_capitals_is_so() -> None:
    refused = _refused(_FORMS[OptionPlace.SINK_INTO], "type", "APPEND-ONLY")
    assert refused == "The sink cannot be append-only: the query updates its rows."


def test_words_are_those_of_the_engines_types() -> None:
    for name, place, values in (
        ("determinism", OptionPlace.SETTING, DeterminismMode),
        ("type", OptionPlace.SINK_FILES, SinkType),
        ("ttl_mode", OptionPlace.TABLE, TtlMode),
    ):
        parse = specs_of(place)[name].parse
        assert isinstance(parse, Keyword) and {*parse.words} == {v.value for v in values}


def test_a_value_says_what_is_wrong_with_a_text() -> None:
    timeout = specs_of(OptionPlace.SETTING)["query_timeout"].parse
    assert timeout.parse("0") is None and timeout.parse("30 days").days == 30
    for text, problem in (("31 days", "not between nothing and 30 days"), ("5", "without a unit")):
        with pytest.raises(UnfitError, match=problem):
            timeout.parse(text)


def test_a_default_is_that_of_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two places may have an option of one name with two defaults."""
    found = (default_of(OptionPlace.SINK_INTO, "snapshot"), default_of(OptionPlace.TABLE, "ttl"))
    assert found == ("true", None)
    assert default_of(OptionPlace.TABLE, "snapshot") is None
    pipeline = compile_sql(
        _TABLES
        + _FORMS[OptionPlace.SINK_INTO].replace("{}", "type = 'upsert'")
        + ";"
        + _FORMS[OptionPlace.SINK_DELTA]
        .replace("{}", "")
        .replace(", )", ")")
        .replace("SINK x", "SINK y")
    )
    into, outside = (pipeline[f"sink:{name}"].object for name in "xy")
    off = OptionSpec("force_append_only", (OptionPlace.SINK_DELTA,), Boolean(), "true", "No.")
    specs = {
        OptionPlace.SINK_DELTA: {off.name: off},
        OptionPlace.SINK_INTO: specs_of(OptionPlace.SINK_INTO),
        OptionPlace.TABLE: specs_of(OptionPlace.TABLE),
    }
    monkeypatch.setattr(option_table, "specs_of", specs.__getitem__)
    assert (into.is_on(off.name), outside.is_on(off.name)) == (False, True)
    # An object without the option begins with all that is there.
    assert outside.begins_whole and pipeline["base"].object.begins_whole
