"""What definitions are made of: columns, keys, watermarks, options, conflict behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from floodmark.errors import NotSupported, Span, SqlSyntaxError
from floodmark.sql.lexer import TokenKind
from floodmark.sql.query_parser import QueryParser
from floodmark.sql.statements import (
    Assignment,
    ColumnDef,
    ConflictAction,
    ConflictClause,
    FormatEncode,
    IncludeColumn,
    ObjectName,
    Option,
    PrimaryKey,
    TypeName,
    WatermarkDef,
)

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
# The spellings of 2.1, then those of other systems.
_CONFLICT_ACTIONS = (
    ("do nothing", ConflictAction.DO_NOTHING),
    ("do update full", ConflictAction.UPDATE_FULL),
    ("do update if not null", ConflictAction.UPDATE_IF_NOT_NULL),
    ("do update set", ConflictAction.UPDATE_SET),
    ("ignore", ConflictAction.DO_NOTHING),
    ("do ignore", ConflictAction.DO_NOTHING),
    ("overwrite", ConflictAction.UPDATE_FULL),
    ("do overwrite", ConflictAction.UPDATE_FULL),
    ("do upsert", ConflictAction.UPDATE_FULL),
    ("upsert", ConflictAction.UPDATE_FULL),
    ("partial update", ConflictAction.UPDATE_IF_NOT_NULL),
    ("do partial update", ConflictAction.UPDATE_IF_NOT_NULL),
)


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


class DefinitionParser(QueryParser):
    """Parses the parts of definitions."""

    def object_name(self, what: str = "a name") -> ObjectName:
        """Parse `[schema.]name`."""
        start = self.index
        parts = [self.name(what)]
        while self.accept("."):
            parts.append(self.name(what, any_word=True))
        if len(parts) > 2:
            self._too_many_parts(start)
        schema = parts[0] if len(parts) == 2 else None
        return ObjectName(name=parts[-1], schema=schema, span=self.span_from(start))

    def names(self) -> tuple[str, ...]:
        """Parse `(name, …)` when it comes next."""
        return tuple(self.parenthesised(self.name)) if self.at("(") else ()

    def elements(self) -> Elements:
        """Parse `(column …, PRIMARY KEY (…), WATERMARK FOR …)` when it comes next."""
        elements = Elements()
        if not self.accept("("):
            return elements
        if self.at(")"):
            self.accept(")")
            return elements
        self.comma_list(lambda: self._element(elements))
        self.expect(")", hint=self._after_column_hint())
        if len(elements.keys) > 1:
            self.twice("PRIMARY KEY", elements.keys[1].span)
        return elements

    def _after_column_hint(self) -> str | None:
        if self.current.kind is TokenKind.WORD and not self.at_end():
            return "a comma is missing between two columns, or the column's constraint is unknown"
        return None

    def _element(self, elements: Elements) -> None:
        start = self.index
        named = self.accept("constraint")
        if named:
            self.name("a constraint name")
        if self.at("primary", "key"):
            self.accept("primary", "key")
            columns = tuple(self.parenthesised(self.name))
            elements.keys.append(PrimaryKey(columns=columns, span=self.span_from(start)))
        elif named and self.current.value not in _REFUSED_CONSTRAINTS:
            raise self.unexpected("PRIMARY KEY", hint="a column has no CONSTRAINT in front of it")
        elif self.at("watermark", "for"):
            elements.watermarks.append(self.watermark())
        elif self.current.value in _REFUSED_CONSTRAINTS and self.current.kind is TokenKind.WORD:
            self._refuse_constraint()
        else:
            column = self.column_def()
            elements.columns.append(column)
            if column.primary_key:
                elements.keys.append(PrimaryKey(columns=(column.name,), span=column.span))

    def _refuse_constraint(self) -> None:
        what, hint = _REFUSED_CONSTRAINTS[self.current.value]
        raise NotSupported(
            "E0393",
            f"{what} not available",
            span=self.place(self.current),
            hint=hint,
        )

    def watermark(self) -> WatermarkDef:
        """Parse `WATERMARK FOR column AS expression [WITH TTL]`."""
        start = self.index
        self.expect("watermark", "for")
        column = self.name("a column name")
        self.expect("as", hint="write WATERMARK FOR ts AS ts - INTERVAL '5' SECOND")
        value = self.expression()
        with_ttl = self.accept("with", "ttl")
        return WatermarkDef(
            column=column, expression=value, with_ttl=with_ttl, span=self.span_from(start)
        )

    def column_def(self) -> ColumnDef:
        """Parse a column with its type and constraints."""
        start = self.index
        name = self.name("a column name")
        type_: TypeName | None = None
        if not self.at("as"):
            type_ = self.type_name()
        facts: dict[str, object] = {}
        while self._column_fact(name, facts):
            pass
        facts.pop("nullable", None)
        return ColumnDef(name=name, type=type_, span=self.span_from(start), **facts)  # type: ignore[arg-type]

    def _column_fact(self, name: str, facts: dict[str, object]) -> bool:
        place = self.place(self.current)
        value: object = True
        if self.accept("primary", "key"):
            key = "primary_key"
        elif self.accept("not", "null"):
            key = "not_null"
        elif self.accept("null"):
            key = "nullable"
        elif self.accept("default"):
            key, value = "default", self.expression()
        elif self.at("generated", "always", "as", "identity") or self.at("generated", "by"):
            self._refuse_constraint()
        elif self.accept("generated", "always", "as") or self.accept("as"):
            key, value = "generated", self.expression()
            self.accept("stored")
        elif self.accept("metadata"):
            text = self.expect_string("a metadata key") if self.accept("from") else name
            key, value = "metadata_from", text
        elif self.current.value in _REFUSED_CONSTRAINTS and self.current.kind is TokenKind.WORD:
            self._refuse_constraint()
            return False
        else:
            return False
        said = {key, *facts}
        if "nullable" in said and said & {"not_null", "primary_key"}:
            raise SqlSyntaxError(
                "E0155",
                f'column "{name}" is NULL, and is not',
                span=place,
                hint="leave NULL out: a NOT NULL or key column has none",
            )
        if key in facts:
            self.twice(key.replace("_", " ").upper(), place)
        facts[key] = value
        return True

    def options(self, *, bare: bool = False) -> tuple[Option, ...]:
        """Parse `( key = value, … )`; a trailing comma is accepted.

        `bare` ones may do without the sign, and without a value, which is then `true`.
        """
        self.expect("(")
        if self.accept(")"):
            return ()
        options = self.comma_list(lambda: self._option(bare=bare), trailing=(")",))
        self.expect(")", hint="options are written name = 'value', with commas between")
        seen: set[str] = set()
        for option in options:
            if option.name in seen:
                self.twice(f"option {option.name}", option.span)
            seen.add(option.name)
        return tuple(options)

    def with_options(self) -> tuple[Option, ...] | None:
        """Parse `WITH ( … )` when it comes next."""
        if not self.at("with", "("):
            return None
        self.accept("with")
        return self.options()

    def _option(self, *, bare: bool) -> Option:
        start = self.index
        name = self._option_name()
        if not bare:
            self.expect("=", hint="options are written name = 'value'")
        signed = bare and self.accept("=")
        ended = bare and not signed and (self.at(",") or self.at(")"))
        value = "true" if ended else self._option_value()
        return Option(name=name, value=value, span=self.span_from(start))

    def _option_name(self) -> str:
        if self.current.kind is TokenKind.STRING:
            return self.advance().value.lower()
        name = self.name("an option name", any_word=True)
        while self.accept("."):
            name += "." + self.name("an option name", any_word=True)
        return name.lower()

    def _option_value(self) -> str:
        token = self.current
        if token.kind in (TokenKind.STRING, TokenKind.NUMBER):
            return self.advance().value
        if token.kind is TokenKind.OPERATOR and token.value in ("-", "+"):
            self.advance()
            if self.current.kind is not TokenKind.NUMBER:
                raise self.unexpected("a number")
            return token.value.replace("+", "") + self.advance().value
        if token.kind not in (TokenKind.WORD, TokenKind.QUOTED):
            raise self.unexpected("a value")
        value = self.advance().value
        while self.at(".") and self.peek().kind is TokenKind.WORD:
            self.advance()
            value += "." + self.advance().value
        return value

    def conflict(self) -> ConflictClause:
        """Parse `ON CONFLICT …` with all its old spellings, and WITH VERSION COLUMN."""
        start = self.index
        self.expect("on", "conflict")
        assignments: tuple[Assignment, ...] = ()
        where: exp.Expression | None = None
        action = self._conflict_action()
        if action is ConflictAction.UPDATE_SET:
            assignments = tuple(self.comma_list(self.assignment))
            where = self.expression() if self.accept("where") else None
        return ConflictClause(
            action=action,
            assignments=assignments,
            where=where,
            version_columns=self._version_columns(),
            span=self.span_from(start),
        )

    def _conflict_action(self) -> ConflictAction:
        for words, action in _CONFLICT_ACTIONS:
            if self.accept(*words.split()):
                return action
        if self.at("with", "version"):
            return ConflictAction.UPDATE_FULL
        raise self.unexpected(
            "a conflict behaviour",
            hint="DO NOTHING, DO UPDATE FULL, DO UPDATE IF NOT NULL or DO UPDATE SET column = …",
        )

    def _version_columns(self) -> tuple[str, ...]:
        if not self.accept("with", "version"):
            return ()
        if self.accept_any("column", "columns") is None:
            raise self.unexpected("COLUMN")
        if not self.at("("):
            raise self.unexpected("the version columns in parentheses")
        return self.names()

    def assignment(self) -> Assignment:
        """Parse `column = value` or `(c1, c2) = row`."""
        start = self.index
        if self.at("("):
            targets = self.parenthesised(self._target_column)
            self.expect("=")
            value = self.expression()
            is_tuple = True
        else:
            targets, is_tuple = [self._target_column()], False
            self.expect("=", hint="an assignment is written column = value")
            value = self._assigned_value()
        tables = tuple(table for table, _ in targets if table is not None)
        columns = tuple(column for _, column in targets)
        span = self.span_from(start)
        return Assignment(columns, value, is_tuple, tables, span)

    def _target_column(self) -> tuple[str | None, str]:
        """Parse a column that may stand behind the table's name, and a schema before that."""
        table, name = None, self.name("a column name")
        while self.accept("."):
            table, name = name, self.name("a column name", any_word=True)
        return table, name

    def _assigned_value(self) -> exp.Expression:
        start = self.index
        if self.accept("default"):
            return self.node(start, exp.Var(this="DEFAULT"))
        return self.expression()

    def format_encode(self) -> FormatEncode | None:
        """Parse `FORMAT f [ENCODE e] [( options )]` when it comes next."""
        start = self.index
        if not self.accept("format"):
            return None
        format_ = self.name("a format").upper()
        encode = None
        if self.accept("encode"):
            encode = self.name("an encoding").upper()
        options = self.options() if self.at("(") else ()
        return FormatEncode(
            format=format_, encode=encode, options=options, span=self.span_from(start)
        )

    def include(self) -> IncludeColumn:
        """Parse `INCLUDE INGESTION TIMESTAMP [AS name]` and its kin."""
        start = self.index
        self.expect("include")
        kind = self.name("what to include").upper()
        if self.accept("timestamp"):
            kind += " TIMESTAMP"
        default = "_".join(kind.lower().split())
        name = self.name("a column name") if self.accept("as") else f"_{default}"
        return IncludeColumn(kind=kind, name=name, span=self.span_from(start))

    def emit_on_window_close(self) -> Span | None:
        """Parse EMIT ON WINDOW CLOSE when it comes next and return its place."""
        start = self.index
        if not self.at("emit", "on") and not self.at("emit", "immediately"):
            return None
        self.accept("emit")
        if self.accept("immediately"):
            return None
        self.expect("on", "window", "close")
        return self.span_from(start)

    def twice(self, clause: str, span: Span | None) -> None:
        """Raise that a clause stands twice in a definition."""
        raise SqlSyntaxError("E0118", f"{clause} is given twice", span=span, hint="keep one")
