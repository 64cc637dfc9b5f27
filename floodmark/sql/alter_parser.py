"""ALTER and DROP statements."""

from __future__ import annotations

from typing import Any, NoReturn

from floodmark.errors import NotSupported
from floodmark.sql.elsewhere import refuse_elsewhere
from floodmark.sql.function_parser import FunctionParser
from floodmark.sql.statements import (
    AlterAddColumn,
    AlterColumns,
    AlterConflict,
    AlterDropColumn,
    AlterQuery,
    AlterRebase,
    AlterRename,
    AlterRenameColumn,
    AlterReset,
    AlterResume,
    AlterSet,
    AlterToTable,
    AlterWatermark,
    Drop,
    ObjectKind,
    ObjectName,
    Parameter,
    Statement,
)

_OTHER_TYPE = (
    "ADD COLUMN another one, UPDATE … SET it = {c}::…, DROP COLUMN {c}, RENAME COLUMN it TO {c}; "
    "or cast in a view"
)
_OTHER_DEFAULT = "INSERT and sinks can give the value; or create another table, and a sink into it"
_OTHER_TABLE = "create another table, and a sink into it"
_CONSTRAINTS = ("constraint", "primary", "unique", "check", "foreign")
_ALONE = "one ALTER adds and drops any number of columns; any other change is an ALTER of its own"
_ACTIONS = "ADD COLUMN, DROP COLUMN, RENAME, ALTER WATERMARK, ON CONFLICT, SET, RESET, AS, RESUME"


class AlterParser(FunctionParser):
    """Parses changes of definitions."""

    def object_kind(self) -> ObjectKind | None:
        """Parse a kind word such as MATERIALIZED VIEW when it comes next."""
        for kind in ObjectKind:
            words = kind.value.lower().split()
            if self.at(*words) and self.peek(len(words)).value not in ("resume", "rebase"):
                self.accept(*words)
                return kind
        return None

    def alter(self, start: int) -> Statement:
        """Parse what follows ALTER."""
        statement = self._alter(start)
        if self.at(","):
            raise self.unexpected("the end of the statement", hint=_ALONE)
        return statement

    def _alter(self, start: int) -> Statement:
        kind = self.object_kind()
        missing_ok = kind is not None and self.accept("if", "exists")
        head: dict[str, Any] = {
            "kind": kind,
            "name": self.object_name(),
            "missing_ok": missing_ok,
        }
        match True:
            case _ if self.accept("resume"):
                return AlterResume(**head, span=self.span_from(start))
            case _ if self.accept("rebase"):
                return AlterRebase(**head, span=self.span_from(start))
            case _ if self.accept("rename"):
                return self._rename(start, head)
            case _ if self.accept("set"):
                options = self.options()
                return AlterSet(**head, options=options, span=self.span_from(start))
            case _ if self.accept("reset"):
                names = self.parenthesised(self._option_name)
                return AlterReset(**head, names=tuple(names), span=self.span_from(start))
        match kind:
            case ObjectKind.TABLE | ObjectKind.SOURCE:
                return self._alter_table(start, head)
            case ObjectKind.SINK | ObjectKind.MATERIALIZED_VIEW | ObjectKind.VIEW:
                return self._alter_query(start, head)
        if kind is None:
            refuse_elsewhere("alter", head["name"].name, span=head["name"].span)
        raise self.unexpected(_ACTIONS)

    def _rename(self, start: int, head: dict[str, Any]) -> Statement:
        if self.accept("to"):
            new_name = self.name("a new name")
            if self.at("."):
                raise NotSupported(
                    "E0794",
                    "RENAME TO takes a name without a schema: an object stays in its own",
                    span=self.span_from(start),
                    hint=f"ALTER … RENAME TO {new_name}, or CREATE it in the other schema",
                )
            return AlterRename(**head, new_name=new_name, span=self.span_from(start))
        self.accept("column")
        column = self.name("a column name")
        self.expect("to")
        new_name = self.name("a new name")
        return AlterRenameColumn(
            **head, column=column, new_name=new_name, span=self.span_from(start)
        )

    def _alter_table(self, start: int, head: dict[str, Any]) -> Statement:
        marked = any(self.at(word, "watermark", "for") for word in ("add", "alter"))
        if not marked and (self.at("add") or self.at("drop")):
            return self._columns(start, head)
        if self.accept_any("add", "alter"):
            if not marked:
                self._refuse_column(start)
            watermark = self.watermark()
            return AlterWatermark(**head, watermark=watermark, span=self.span_from(start))
        if self.at("on", "conflict"):
            conflict = self.conflict()
            return AlterConflict(**head, conflict=conflict, span=self.span_from(start))
        raise self.unexpected(_ACTIONS)

    def _columns(self, start: int, head: dict[str, Any]) -> Statement:
        """Parse ADD COLUMN and DROP COLUMN, one or several."""
        actions = [self._column(start, head)]
        while self.accept(","):
            if not (self.at("add") or self.at("drop")):
                raise self.unexpected("ADD COLUMN or DROP COLUMN", hint=_ALONE)
            actions.append(self._column(self.index, head))
        if len(actions) == 1:
            return actions[0]
        return AlterColumns(**head, actions=tuple(actions), span=self.span_from(start))

    def _column(self, start: int, head: dict[str, Any]) -> AlterAddColumn | AlterDropColumn:
        if self.accept("add"):
            return self._add_column(start, head)
        self.expect("drop")
        self.accept("column")
        if_exists = self.accept("if", "exists")
        column = self.name("a column name")
        cascade = self.accept_any("cascade", "restrict") == "cascade"
        return AlterDropColumn(
            **head,
            column=column,
            cascade=cascade,
            if_exists=if_exists,
            span=self.span_from(start),
        )

    def _refuse_column(self, start: int) -> NoReturn:
        """Raise E0853 for ALTER COLUMN: stored rows have been checked and computed with it."""
        self.accept("column")
        column = self.name("a column name, or WATERMARK FOR a column")
        what, hint = f'the type of the column "{column}" stays', _OTHER_TYPE.format(c=column)
        if self.accept_any("set", "drop") is not None and not self.at("data"):
            what, hint = f'the DEFAULT of the column "{column}" stays', _OTHER_DEFAULT
            if self.at("not"):
                what, hint = f'whether "{column}" can be NULL stays', _OTHER_TABLE
        elif not self.at_any("type", "data"):
            raise self.unexpected("TYPE, SET or DROP", hint=hint)
        self.advance()
        raise NotSupported("E0853", what, span=self.span_from(start), hint=hint)

    def _add_column(self, start: int, head: dict[str, Any]) -> AlterAddColumn:
        if not self.accept("column") and self.at_any(*_CONSTRAINTS):
            raise self.unexpected("a column name", hint=_OTHER_TABLE)
        if_not_exists = self.accept("if", "not", "exists")
        column = self.column_def()
        conflict = self.conflict() if self.at("on", "conflict") else None
        return AlterAddColumn(
            **head,
            column=column,
            conflict=conflict,
            if_not_exists=if_not_exists,
            span=self.span_from(start),
        )

    def _alter_query(self, start: int, head: dict[str, Any]) -> Statement:
        is_materialized = head["kind"] is ObjectKind.MATERIALIZED_VIEW
        if is_materialized and self.accept("to", "table"):
            return AlterToTable(**head, span=self.span_from(start))
        if not self.at("as"):
            raise self.unexpected("AS, RENAME TO, SET or RESUME")
        self._as_query(head["kind"].value)
        query = self.query()
        tail = self.view_tail()
        return AlterQuery(**head, **tail, query=query, span=self.span_from(start))

    def drop(self, start: int) -> Drop:
        """Parse what follows DROP."""
        kind = self.object_kind()
        if kind is None:
            refuse_elsewhere("drop", self.current.value, span=self.place(self.current))
            raise self.unexpected(
                "what kind of object to drop", hint="write DROP TABLE t, DROP SINK k, …"
            )
        if_exists = self.accept("if", "exists")
        dropped = self.comma_list(lambda: self._dropped(kind))
        name, *others = (name for name, _ in dropped)
        with_rows = kind is ObjectKind.SINK and self.accept("with", "rows")
        cascade = self.accept_any("cascade", "restrict") == "cascade"
        return Drop(
            kind=kind,
            name=name,
            others=tuple(others),
            takes=tuple(taken for _, taken in dropped),
            if_exists=if_exists,
            cascade=cascade,
            with_rows=with_rows,
            span=self.span_from(start),
        )

    def _dropped(self, kind: ObjectKind) -> tuple[ObjectName, tuple[Parameter, ...] | None]:
        name = self.object_name()
        called = kind in (ObjectKind.FUNCTION, ObjectKind.AGGREGATE) and self.at("(")
        return name, self._parameters() if called else None
