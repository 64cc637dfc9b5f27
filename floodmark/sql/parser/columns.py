"""What the parentheses of a definition hold: columns, keys, watermarks."""

from __future__ import annotations

from dataclasses import dataclass, field

from floodmark.errors import NotSupported, SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.parser.clauses import refuse_twice
from floodmark.sql.parser.cursor import Cursor
from floodmark.sql.parser.types import read_type_name
from floodmark.sql.statements import ColumnDef, PrimaryKey, TypeName, WatermarkDef

_NO_REFERENCES = "leave it out; a view of a LEFT JOIN tells which rows have no partner"
_REFUSED_CONSTRAINTS = {
    "unique": ("UNIQUE is", "make the column the PRIMARY KEY, or leave UNIQUE out"),
    "check": ("CHECK constraints are", "leave it out; a view WHERE it holds has the rows that fit"),
    "foreign": ("FOREIGN KEY constraints are", _NO_REFERENCES),
    "references": ("FOREIGN KEY constraints are", _NO_REFERENCES),
    "exclude": ("EXCLUDE constraints are", "leave it out; a view can tell which rows overlap"),
    "like": ("CREATE … LIKE is", "list the columns; SHOW CREATE TABLE prints them"),
    "generated": ("IDENTITY is", "take DEFAULT gen_random_uuid(), or a key of the rows themselves"),
}


@dataclass
class Elements:
    """What the parentheses of a definition hold."""

    columns: list[ColumnDef] = field(default_factory=list)
    keys: list[PrimaryKey] = field(default_factory=list)
    watermarks: list[WatermarkDef] = field(default_factory=list)

    @property
    def primary_key(self) -> PrimaryKey | None:
        """Return the key, declared on the table or on a column."""
        return self.keys[0] if self.keys else None


def read_elements(cursor: Cursor) -> Elements:
    """Read `(column …, PRIMARY KEY (…), WATERMARK FOR …)` when it comes next."""
    elements = Elements()
    if not cursor.accept("("):
        return elements
    if cursor.accept(")"):
        return elements
    cursor.comma_list(lambda cursor: _read_element(cursor, elements))
    cursor.expect(")", hint=_missing_comma_hint(cursor))
    if len(elements.keys) > 1:
        refuse_twice("PRIMARY KEY", elements.keys[1].span)
    return elements


def _missing_comma_hint(cursor: Cursor) -> str | None:
    if cursor.current.kind is TokenKind.WORD and not cursor.is_at_end():
        return "a comma is missing between two columns, or the column's constraint is unknown"
    return None


def _read_element(cursor: Cursor, elements: Elements) -> None:
    start = cursor.index
    named = cursor.accept("constraint")
    if named:
        cursor.name("a constraint name")
    if cursor.accept("primary", "key"):
        columns = tuple(cursor.paren_list(Cursor.name))
        elements.keys.append(PrimaryKey(columns=columns, span=cursor.span_from(start)))
    elif named and cursor.current.value not in _REFUSED_CONSTRAINTS:
        raise cursor.syntax_error("PRIMARY KEY", hint="a column has no CONSTRAINT in front of it")
    elif cursor.is_at("watermark", "for"):
        elements.watermarks.append(read_watermark(cursor))
    elif cursor.current.value in _REFUSED_CONSTRAINTS and cursor.current.kind is TokenKind.WORD:
        _refuse_constraint(cursor)
    else:
        column = read_column(cursor)
        elements.columns.append(column)
        if column.primary_key:
            elements.keys.append(PrimaryKey(columns=(column.name,), span=column.span))


def _refuse_constraint(cursor: Cursor) -> None:
    what, hint = _REFUSED_CONSTRAINTS[cursor.current.value]
    raise NotSupported(
        "E0393",
        f"{what} not available",
        span=cursor.place(cursor.current),
        hint=hint,
    )


def read_watermark(cursor: Cursor) -> WatermarkDef:
    """Read `WATERMARK FOR column AS expression [WITH TTL]`."""
    start = cursor.index
    cursor.expect("watermark", "for")
    column = cursor.name("a column name")
    cursor.expect("as", hint="write WATERMARK FOR ts AS ts - INTERVAL '5' SECOND")
    value = cursor.expression()
    with_ttl = cursor.accept("with", "ttl")
    return WatermarkDef(
        column=column, expression=value, with_ttl=with_ttl, span=cursor.span_from(start)
    )


def read_column(cursor: Cursor) -> ColumnDef:
    """Read a column with its type and constraints."""
    start = cursor.index
    name = cursor.name("a column name")
    type_: TypeName | None = None
    if not cursor.is_at("as"):
        type_ = read_type_name(cursor)
    facts: dict[str, object] = {}
    while _read_column_fact(cursor, name, facts):
        pass
    facts.pop("nullable", None)
    return ColumnDef(name=name, type=type_, span=cursor.span_from(start), **facts)  # type: ignore[arg-type]


def _read_column_fact(cursor: Cursor, name: str, facts: dict[str, object]) -> bool:
    place = cursor.place(cursor.current)
    value: object = True
    if cursor.accept("primary", "key"):
        key = "primary_key"
    elif cursor.accept("not", "null"):
        key = "not_null"
    elif cursor.accept("null"):
        key = "nullable"
    elif cursor.accept("default"):
        key, value = "default", cursor.expression()
    elif cursor.is_at("generated", "always", "as", "identity") or cursor.is_at("generated", "by"):
        _refuse_constraint(cursor)
    elif cursor.accept("generated", "always", "as") or cursor.accept("as"):
        key, value = "generated", cursor.expression()
        cursor.accept("stored")
    elif cursor.accept("metadata"):
        text = cursor.expect_string("a metadata key") if cursor.accept("from") else name
        key, value = "metadata_from", text
    elif cursor.current.value in _REFUSED_CONSTRAINTS and cursor.current.kind is TokenKind.WORD:
        _refuse_constraint(cursor)
        return False
    else:
        return False
    said = {key, *facts}
    if "nullable" in said and said & {"not_null", "primary_key"}:
        raise SqlSyntaxError(
            "E0155",
            f'column "{name}" is declared both NULL and NOT NULL',
            span=place,
            hint="leave NULL out: a NOT NULL or key column cannot be NULL",
        )
    if key in facts:
        refuse_twice(key.replace("_", " ").upper(), place)
    facts[key] = value
    return True
