"""What the parser takes has a meaning: a field with another value is another plan or an error.

The fields are those of the node classes, so that one that is added fails here until an example has
it, and until something reads it.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from floodmark.sql import statements
from floodmark.sql.normalise import to_sql
from floodmark.warehouse.deployed import Deployed
from tests.sql.field_mutations import (
    Place,
    examples,
    given,
    mutations,
    node_arguments,
    refused,
    setup,
    statement_fields,
    whole_only,
)
from tests.sql.observed import is_error, observed
from tests.sql.planned_scripts import Planner

_HINT = "an index is a hint: its columns are checked, a notice tells"
UNREAD: dict[Place, str] = {
    ("Assignment", "tables"): "compared with the target, E0208, and left out of the text",
    ("ColumnDef", "primary_key"): "the key of the table says it, too",
    (
        "CreateIndex",
        "distributed_by",
    ): _HINT,
    ("CreateIndex", "keys"): _HINT,
    ("TypeName", "text"): "the words of messages",
    ("exp.DataType", "nested"): "follows from the type",
    ("exp.Fetch", "direction"): "FIRST and NEXT are the same",
    ("exp.Fetch", "limit_options"): "the parser makes a Fetch of WITH TIES alone",
    ("exp.Identifier", "quoted"): "the parser has folded the names that are not",
    ("exp.LimitOptions", "rows"): "the parser makes them of WITH TIES alone",
    ("exp.LimitOptions", "with_ties"): "the parser makes them of WITH TIES alone",
    ("exp.Version", "kind"): "AS OF alone is parsed",
    ("exp.Version", "this"): "SYSTEM_TIME alone is parsed",
}
"""What nothing reads, or what has one value."""

_SAME = "the same in other words"
MAY_BE_UNREAD: dict[Place, str] = {
    ("AlterDropColumn", "cascade"): "nothing reads the column",
    ("Assignment", "is_tuple"): _SAME,
    ("ColumnDef", "not_null"): "a key has no NULL",
    ("CopyFrom", "columns"): "the header names them",
    ("CopyFrom", "options"): "the name of the file says the format",
    ("CopyTo", "options"): "the name of the file says the format",
    ("CopyTo", "table"): _SAME,
    ("CreateFunction", "volatility"): "VOLATILE unless said; of LANGUAGE sql its text says it",
    ("CreateIndex", "include"): _HINT,
    ("CreateSink", "from_relation"): _SAME,
    ("CreateSource", "append_only"): "rows of FORMAT PLAIN are only added",
    ("CreateSource", "format"): "PLAIN and JSON unless said",
    ("CreateTable", "format"): "PLAIN and JSON unless said",
    ("CreateTable", "options"): "a TTL column is that of the TTL",
    ("CreateTableAs", "columns"): _SAME,
    ("CreateTableAs", "primary_key"): "the key of the query",
    ("Describe", "kind"): "a check of what is named",
    ("Drop", "cascade"): "nothing reads what goes",
    ("Drop", "takes"): "a check of what is named",
    ("Explain", "kind"): "a check of what is named",
    ("FormatEncode", "encode"): "JSON unless said",
    ("Insert", "columns"): "all columns, in order",
    ("Show", "kind"): "a check of what is named",
    ("Transform", "options"): "a query of single rows needs no view",
    ("Update", "alias"): "nothing names the table",
    ("exp.Alias", "alias"): "the definition names the column",
    ("exp.Anonymous", "this"): "now() and proctime() are the same in a lookup",
    ("exp.Column", "table"): "there is one relation",
    ("exp.DataType", "expressions"): "VARCHAR(n) declares a VARCHAR: docs/sql.md",
    ("exp.Distinct", "expressions"): "DISTINCT takes no list: it is read as a column's name",
    ("exp.Identifier", "this"): "nothing names the relation",
    ("exp.Interval", "unit"): "the text has units of its own, none below this one",
    ("exp.Literal", "is_string"): "a bare text takes the type of what stands beside it",
    ("exp.Literal", "this"): "the n of VARCHAR(n); the value of a row in EXISTS",
    ("exp.Ordered", "desc"): "the order of an index: a hint",
    ("exp.Ordered", "nulls_first"): "an index; the values of a percentile have no NULL",
    ("exp.Select", "distinct"): "EXISTS asks for one row",
    ("exp.Select", "limit"): "EXISTS asks for one row",
    ("exp.Select", "order"): "EXISTS asks for one row",
    ("exp.Select", "windows"): "no call names the window; it is checked all the same",
    ("exp.Select", "with_"): "nothing reads the WITH query; it is checked all the same",
    ("exp.Star", "except_"): "the order in which columns are left out",
    ("exp.Table", "alias"): "nothing names the relation",
    ("exp.TableAlias", "this"): "nothing names the relation",
    ("exp.WindowTable", "alias"): "nothing names the relation",
    ("exp.With", "expressions"): "the WITH queries do not read each other",
}
"""What means nothing in some places, though it does in others."""
_EXIST_CLAUSES = ("if_not_exists", "if_exists", "missing_ok", "or_replace")

DROPPED = {
    "cursor.accept('all')": "SELECT ALL, sum(ALL x): what is meant without it",
    "cursor.accept('column')": "ADD [COLUMN] c",
    "cursor.accept('distinct')": "UNION DISTINCT: what is meant without ALL",
    "cursor.accept('only')": "FROM ONLY t: no table has heirs",
    "cursor.accept('outer')": "LEFT [OUTER] JOIN",
    "cursor.accept('precision')": "DOUBLE [PRECISION]",
    "cursor.accept('row')": "VALUES [ROW] (…)",
    "cursor.accept('session')": "SET [SESSION]: what is meant without LOCAL, which is refused",
    "cursor.accept('stored')": "generated columns are stored",
    "cursor.accept('table')": "TUMBLE([TABLE] t, …)",
    "cursor.accept('with')": "COPY … [WITH] (…); or looked at before",
    "cursor.accept('without', 'time', 'zone')": "TIMESTAMP [WITHOUT TIME ZONE]",
    "cursor.accept_any('rows', 'row')": "OFFSET 2 [ROWS]",
    "cursor.accept_any('transaction', 'work')": "BEGIN [TRANSACTION]",
    "cursor.name('a constraint name')": "a key has no name: nothing drops it",
    "cursor.name('an index method')": "an index is a hint: a notice tells",
    "cursor.accept(';')": "the end of a statement",
    # Looked at before.
    "cursor.accept(*words)": "", "cursor.identifier('an expression')": "",
}  # fmt: skip
"""The words that the parser takes and keeps nowhere, with the reason."""
_TAKES = (
    "accept", "accept_any", "name", "identifier", "read_object_kind", "read_object_name",
    "read_names",
)  # fmt: skip


@cache
def _deployed() -> Deployed:
    planner = Planner()
    planner.script(setup())
    return planner.deployed


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copied")
    (folder / "rows.csv").write_text("k;v\n1;2\n")
    return folder


def _observed(text: str, folder: Path) -> object:
    return observed(text.replace("FOLDER", str(folder)), _deployed(), folder)


def _read(folder: Path) -> set[Place]:
    """Return the fields of which a change has been seen, once each."""
    read: set[Place] = set()
    for number, example in enumerate(examples()):
        seen = _observed(to_sql(example), folder)
        for mutation in mutations(number):
            if mutation.place not in read and mutation.place not in UNREAD:
                text = mutation.text()
                if text is not None and _observed(text, folder) != seen:
                    read.add(mutation.place)
    return read


def _unread(number: int, folder: Path) -> list[tuple[Place, str]]:
    """Return the changes of an example that change nothing of what is carried out."""
    before = to_sql(examples()[number])
    seen, known, out = _observed(before, folder), {before}, []
    if is_error(seen) or "nothing to do" in repr(seen)[:30]:
        return []
    for mutation in mutations(number):
        text = mutation.text()
        if text is not None and text not in known:
            known.add(text)
            if _observed(text, folder) == seen:
                out.append((mutation.place, text))
    return out


def test_every_field_has_an_example() -> None:
    assert sorted((statement_fields() | node_arguments()) - given()) == []


def test_each_field_is_read_somewhere(folder: Path) -> None:
    known = statement_fields() | node_arguments()
    assert sorted(known - _read(folder) - whole_only() - {*UNREAD}) == []


@pytest.mark.long
def test_each_field_is_read_wherever_it_stands(folder: Path) -> None:
    unread = [found for number in range(len(examples())) for found in _unread(number, folder)]
    fields = {*UNREAD, *MAY_BE_UNREAD}
    odd = [m for m in unread if m[0] not in fields and m[0][1] not in _EXIST_CLAUSES]
    assert odd == [], "\n".join(f"{place}: {text}" for place, text in odd)


@pytest.mark.parametrize("statement", refused(), ids=lambda s: s.sql[:40])
def test_what_is_refused_as_a_whole_is(statement: statements.Statement, folder: Path) -> None:
    assert is_error(_observed(to_sql(statement), folder))


def test_no_word_is_dropped_without_a_reason() -> None:
    """Each word that the parser takes is kept in a node, or listed here with its reason."""
    found = set()
    for path in sorted((Path(statements.__file__).parent / "parser").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                called = node.value.func
                if getattr(called, "attr", getattr(called, "id", None)) in _TAKES:
                    found.add(ast.unparse(node.value))
    assert found == set(DROPPED)
