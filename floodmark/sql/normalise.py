"""Statements to normalised SQL text: for SHOW CREATE, fingerprints and diffs.

Two statements have equal text exactly when they ask for the same; parsing the text and printing it
again gives the text.
"""

from __future__ import annotations

from floodmark.sql.printer.alter import alter_sql
from floodmark.sql.printer.definitions import definition_sql
from floodmark.sql.printer.dialect import print_expression, quote_string
from floodmark.sql.printer.dml import dml_sql
from floodmark.sql.printer.drop import drop_sql
from floodmark.sql.printer.parts import kind_sql, object_sql, option_name_sql
from floodmark.sql.printer.show import show_sql
from floodmark.sql.statements import (
    Alter,
    Begin,
    Commit,
    CopyFrom,
    CopyTo,
    Definition,
    Delete,
    Describe,
    Drop,
    Explain,
    ExplainFormat,
    Flush,
    Insert,
    Rollback,
    Select,
    SetOption,
    Show,
    Statement,
    Update,
)


def to_sql(statement: Statement) -> str:
    """Return the normalised text, without a semicolon.

    >>> from floodmark.sql.parse import parse_statement
    >>> to_sql(parse_statement("select A+1 x from T"))
    'SELECT\\n  a + 1 AS x\\nFROM t'
    """
    match statement:
        case Definition():
            return definition_sql(statement)
        case Alter():
            return alter_sql(statement)
        case Drop():
            return drop_sql(statement)
        case Select():
            return print_expression(statement.query, pretty=True)
        case Insert() | Update() | Delete() | CopyFrom() | CopyTo():
            return dml_sql(statement)
        case Begin() | Commit() | Rollback() | Flush():
            return statement.words
    return _command(statement)


def _command(statement: Statement) -> str:
    match statement:
        case Explain():
            return _explain(statement)
        case Show():
            return show_sql(statement)
        case Describe():
            return f"DESCRIBE {kind_sql(statement.kind)}{object_sql(statement.name)}"
        case SetOption():
            value = "DEFAULT" if statement.value is None else quote_string(statement.value)
            return f"SET {option_name_sql(statement.name)} = {value}"
    raise AssertionError(f"no printer for {type(statement).__name__}")


def _explain(statement: Explain) -> str:
    flags = []
    if statement.format is not ExplainFormat.TEXT:
        flags.append(f"FORMAT {statement.format.value}")
    flags += ["STATE"] if statement.state else []
    head = f"EXPLAIN ({', '.join(flags)})" if flags else "EXPLAIN"
    if statement.statement is not None:
        return f"{head} {to_sql(statement.statement)}"
    assert statement.name is not None
    return f"{head} {kind_sql(statement.kind)}{object_sql(statement.name)}"
