"""A sink says its format, and each option, once: another word in another place is refused."""

from __future__ import annotations

import pytest

from floodmark.errors import BindError
from floodmark.session.ddl import deployment
from tests.sql.planned_scripts import Planner

_BASE = "CREATE TABLE base (k INT PRIMARY KEY, v BIGINT);"
_SINK = "CREATE SINK x AS SELECT k, v FROM base WITH (connector = 'files', path = 'p', {}) {}"
_RETRACT = "type = 'retract'"


@pytest.mark.parametrize(
    ("said", "format_", "where", "hint"),
    [
        ("format = 'csv'", "FORMAT PLAIN ENCODE JSON", "format = 'csv'", "format = 'json'"),
        ("format = 'xml'", "FORMAT PLAIN ENCODE JSON", "format = 'xml'", "format = 'json'"),
        ("ENCODE = 'csv'", "FORMAT PLAIN ENCODE PARQUET", "ENCODE = 'csv'", "encode = 'parquet'"),
        ("format = 'csv', encode = 'json'", "", "format = 'csv'", "format = 'json'"),
        ("csv.header = 'false'", "FORMAT PLAIN ENCODE CSV (csv.header = true)",
         "csv.header = true", "keep one of them"),
    ],
)  # fmt: skip
def test_what_contradicts_is_refused_at_its_place(
    said: str, format_: str, where: str, hint: str
) -> None:
    text = _BASE + _SINK.format(f"{_RETRACT}, {said}", format_)
    with pytest.raises(BindError, match="E0721") as caught:
        Planner().script(text)
    span = caught.value.span
    assert span is not None and text[span.start : span.end] == where
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("said", "format_"),
    [
        ("format = 'JSON', encode = 'json'", "FORMAT PLAIN ENCODE JSON"),
        ("csv.header = 'false'", "FORMAT PLAIN ENCODE CSV (csv.delimiter = ';')"),
    ],
)
def test_what_says_the_same_is_not(said: str, format_: str) -> None:
    Planner().script(_BASE + _SINK.format(f"{_RETRACT}, {said}", format_))


def test_a_sink_at_rest_that_does_goes_on_while_its_input_changes() -> None:
    planner = Planner()
    with pytest.MonkeyPatch.context() as before:
        before.setattr(deployment, "check_new_sink", lambda statement: None)
        view = "CREATE MATERIALIZED VIEW v AS SELECT k, v FROM base;"
        sink = _SINK.replace("AS SELECT k, v FROM base", "FROM v")
        said = sink.format(f"{_RETRACT}, format = 'csv'", "FORMAT PLAIN ENCODE JSON")
        planner.script(f"{_BASE} {view} {said};")
    planner.script("ALTER MATERIALIZED VIEW v AS SELECT k, v + 1 AS v FROM base;")
    with pytest.raises(BindError, match="E0721"):
        planner.script("ALTER SINK x SET (csv.header = 'false');")
