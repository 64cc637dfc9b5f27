"""Each setting and each option has a type with bounds: another value is refused when it is planned.

The names are those of the one table, so that an option that is added fails here until it has a
statement and a type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from floodmark.catalog.option_table import FORCED, KEEPING, OptionPlace as P, specs_of
from floodmark.errors import FloodmarkError
from floodmark.storage.warehouse import local_root
from tests.sql.planned_scripts import Planner

VALUES = {
    "nothing": "''", "blank": "' '", "number": "5", "huge": "99999999999999999999",
    "digits": f"'{'9' * 5000}'", "negative": "-1", "past": "'-1 day'", "fraction": "1.5",
    "infinite": "'inf'", "nan": "'nan'", "1e400": "'1e400'", "other digit": "'٣'",
    "word": "'nonsense'", "bool": "true", "null": "'a\0b'",
}  # fmt: skip
REFUSED = set[str]()
TEXT = {*VALUES} - {"null", "nothing", "blank"}
CHARACTER = {"number", "other digit", "blank"}
COUNT, WHOLE, NUMBER = {"number"}, {"number", "negative"}, {"number", "negative", "fraction"}
YES = {"bool"}
TAKES: dict[str, set[str]] = {
    "max_due_rows": COUNT, "plan_nodes": COUNT, "static": YES, "max_rows_per_epoch": COUNT,
    "path": TEXT, "match_pattern": TEXT, "follow_symlinks": YES, "csv.header": YES,
    "csv.delimiter": CHARACTER, "csv.quote": {*CHARACTER, "nothing"}, "table": TEXT,
    "csv.escape": {*CHARACTER, "nothing"}, "csv.null": {*VALUES} - {"null"},
    "ignore_deletes": YES, "skip_change_commits": YES, "starting_version": COUNT,
    "busy_seconds": COUNT | {"fraction"}, "chunk": COUNT, "nexmark.event.num": COUNT,
    "nexmark.seed": WHOLE, "nexmark.event.rate": COUNT, "nexmark.out.of.order.group.size": COUNT,
    "datagen.rows": COUNT, "datagen.rows.per.second": COUNT, "datagen.seed": WHOLE,
    "length": COUNT, "seed": WHOLE, "nulls": REFUSED, "step": NUMBER, "v.start": WHOLE,
    "v.end": COUNT, "v.min": WHOLE, "v.max": COUNT, "d.min": NUMBER | {"huge"},
    "d.max": NUMBER | {"huge"}, "retention_seconds": COUNT, "snapshot": YES, "continuous": YES,
    "force_append_only": YES, "ignore_delete": YES, "rows_per_file": COUNT, "split": YES,
    "header": YES, "delimiter": CHARACTER, "null": {*VALUES} - {"null"}, "copied path": TEXT - {
        "number", "huge", "negative", "fraction", "bool",
    },
}  # fmt: skip
"""What each option takes of the values; one that is not here takes none of them."""
_HOSTS = ("file://tmp/out", "file://tmp", "FILE://10.0.0.1/tmp/out")
_TABLES = (
    "CREATE TABLE base (k INT PRIMARY KEY, v BIGINT);"
    "CREATE TABLE target (k INT PRIMARY KEY, v BIGINT);"
)
_MARKED = "t DATE, WATERMARK FOR t AS t"
_COLUMNS = (
    "(v BIGINT, s VARCHAR, d DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1 second')"
)


def _with(given: dict[str, str], name: str) -> str:
    written = {**given, name: "{}"}
    return ", ".join(f"{option} = {value}" for option, value in written.items())


def _source(
    connector: str, given: dict[str, str], names: Iterable[str]
) -> Iterator[tuple[str, str]]:
    columns = _COLUMNS if connector != "nexmark" else "(price BIGINT)"
    for name in names:
        text = _with({"connector": f"'{connector}'", **given}, name)
        yield name, f"CREATE SOURCE x {columns} WITH ({text})"


def _datagen() -> Iterator[tuple[str, str]]:
    kinds = {
        ("random", "s"): ("length", "nulls", "kind", "seed"),
        ("random", "v"): ("min", "max"),
        ("random", "d"): ("min", "max"),
        ("random", "ts"): ("min", "max"),
        ("sequence", "v"): ("start", "end"),
        ("sequence", "ts"): ("start", "step"),
    }
    for (kind, column), names in kinds.items():
        given = {"datagen.rows": "9", f"fields.{column}.kind": f"'{kind}'"}
        fields = tuple(f"fields.{column}.{name}" for name in names)
        yield from _source("datagen", given, fields)


def _forms() -> Iterator[tuple[str, str]]:
    yield from ((name, f"SET {name} = {{}}") for name in specs_of(P.SETTING))
    files = {"path": "'p'", "format": "'csv'"}
    plain = [n for n in specs_of(P.FILES) if n != "path"]
    yield from _source("files", files, (*specs_of(P.CONNECTED), "path", *plain))
    yield from _source("delta", {"path": "'p'"}, specs_of(P.DELTA))
    made = {"nexmark.table.type": "'bid'", "nexmark.event.num": "9"}
    yield from _source("nexmark", made, specs_of(P.NEXMARK))
    made = {"datagen.rows": "9", "datagen.rows.per.second": "9"}
    own = [n for n in specs_of(P.DATAGEN) if not n.startswith("fields.")]
    yield from _source("datagen", made, own)
    yield from _datagen()
    for name in specs_of(P.LOOKUP):
        given = {"connector": "'lookup'", "store": "'sqlite'", "path": "'p'"}
        yield name, f"CREATE TABLE x (k INT PRIMARY KEY) WITH ({_with(given, name)})"
    for name in specs_of(P.TABLE):
        if name == "connector":
            continue
        given = {"ttl": "'1 day'"} if name.startswith("ttl_") else {}
        key = "k INT PRIMARY KEY" if "ttl" in name or name.startswith("ret") else _MARKED
        end = "" if key is not _MARKED else "APPEND ONLY "
        yield name, f"CREATE TABLE x ({key}) {end}WITH ({_with(given, name)})"
    for name in specs_of(P.MATERIALIZED_VIEW):
        yield name, f"CREATE MATERIALIZED VIEW x AS SELECT k, v FROM base WITH ({name} = {{}})"
    for name in specs_of(P.SINK_INTO):
        yield name, f"CREATE SINK x INTO target AS SELECT k, v FROM base WITH ({name} = {{}})"
    given = {"connector": "'files'", "path": "'p'", "format": "'csv'", "primary_key": "'k'"}
    for name in specs_of(P.SINK_FILES, P.SINK_CSV):
        if name not in (FORCED, KEEPING):
            of = {"type": "'upsert'", **given}
            yield name, f"CREATE SINK x AS SELECT k, v FROM base WITH ({_with(of, name)})"
    for name in specs_of(P.COPY, P.COPY_CSV):
        yield name, f"COPY base TO '/tmp/x.csv' WITH ({name} = {{}})"
    yield "copied path", "COPY base TO {}"
    for name in specs_of(P.TABLE_AS):
        yield name, f"CREATE TABLE x WITH ({name} = {{}}) AS SELECT k, v FROM base"
    for name in specs_of(P.TRANSFORM):
        yield (
            name,
            "CREATE SOURCE x (k INT) WITH (connector = 'datagen', datagen.rows = 3) "
            f"TRANSFORM USING (SELECT k FROM x) WITH ({name} = {{}})",
        )


def _taken(name: str) -> set[str]:
    field = name.removeprefix("fields.")
    return TAKES.get(field, TAKES.get(field.rpartition(".")[2], REFUSED))


@pytest.mark.parametrize(("name", "form"), list(_forms()))
def test_a_value_is_of_its_options_type_or_refused(name: str, form: str) -> None:
    taken = set()
    for kind, value in VALUES.items():
        try:
            Planner().script(_TABLES + form.replace("{}", value))
        except FloodmarkError as error:
            assert error.hint or error.code == "E0101", (kind, error.message)
            assert error.span is not None and len(error.message) < 300, (kind, error.message)
        else:
            taken.add(kind)
    assert taken == _taken(name)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("ttl = 'INTERVAL ''5'''", "E0154"),
        ("ttl = '5 seconds'", None),
        ("watermark.advance = 'now() - 5'", "E0154"),
        ("watermark.advance = 'now() - 5 seconds'", None),
        ("csv.null = '-'", "E0471"),
        ("format = 'csv', csv.null = '-'", None),
    ],
)
def test_an_option_says_something(options: str, code: str | None) -> None:
    """A length has a unit; what is for another format is refused."""
    form = "CREATE TABLE x (t DATE, WATERMARK FOR t AS t) APPEND ONLY WITH (connector = 'files', "
    try:
        Planner().script(f"{form} path = 'p', {options})")
    except FloodmarkError as error:
        assert error.code == code
    else:
        assert code is None


def test_an_option_names_the_format_where_no_clause_does() -> None:
    planner = Planner()
    head = "CREATE SOURCE x (k INT) WITH (connector = 'files', path = 'p', format = 'csv')"
    planner.script(head)
    declared = planner.deployed.pipeline["x"].declared
    assert declared is not None and declared.encode == "CSV"
    with pytest.raises(FloodmarkError) as refused:
        Planner().script(f"{head} FORMAT PLAIN ENCODE JSON")
    assert refused.value.code == "E0473"


@pytest.mark.parametrize("url", _HOSTS)
def test_a_folder_of_another_host_is_refused(url: str) -> None:
    """What stands behind file:// is a host: it was left out of the path."""
    for code, statement in (
        ("E0721", "CREATE SINK x AS SELECT k FROM base WITH (connector = 'files', path = '{}', "
                  "type = 'retract', format = 'json')"),
        ("E0473", "CREATE SOURCE x (k INT) WITH (connector = 'files', path = '{}', "
                  "format = 'json')"),
    ):  # fmt: skip
        with pytest.raises(FloodmarkError, match="names the host") as refused:
            Planner().script(_TABLES + statement.format(url))
        assert refused.value.code == code
    with pytest.raises(FloodmarkError, match="not on a local disk") as refused:
        local_root(url.replace("FILE", "file"))
    assert refused.value.code == "E0380"


@pytest.mark.parametrize("url", ["file:///tmp/out", "file://localhost/tmp/out", "/tmp/out"])
def test_a_folder_of_this_host_is_local(url: str) -> None:
    path = specs_of(P.FILES)["path"].parse.parse(url)
    assert path.as_posix() == local_root(url).as_posix() == "/tmp/out"
