"""What a statement must keep to beyond its grammar: names that can be stored, no duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from floodmark.errors import Span, SqlSyntaxError
from floodmark.limits import LIMITS
from floodmark.sql.statements import (
    AlterAddColumn,
    AlterColumns,
    AlterRename,
    AlterRenameColumn,
    Assignment,
    ColumnDef,
    ConflictClause,
    CreateFunction,
    CreateMaterializedView,
    CreateSink,
    CreateSource,
    CreateTable,
    CreateTableAs,
    CreateView,
    Definition,
    Explain,
    IncludeColumn,
    Insert,
    Statement,
    Transform,
    Update,
)

COMPANION_SUFFIXES = ("__late", "__dead_letter", "__changes", "__corrections")
HIDDEN_COLUMNS = frozenset({"_row_id", "_epoch_timestamp", "_rw_timestamp"})
_FORBIDDEN_CHARACTERS = frozenset("\0/\\")


def validate(statement: Statement) -> None:
    """Check a parsed statement; raises SqlSyntaxError at the place of the fault."""
    match statement:
        case Explain(statement=Statement() as inner):
            validate(inner)
        case Definition():
            _object_name(statement.name.name, statement.name.span)
            _definition(statement)
        case AlterAddColumn():
            _columns((statement.column,))
            _conflict(statement.conflict)
        case AlterColumns():
            for action in statement.actions:
                validate(action)
        case AlterRename():
            _object_name(statement.new_name, statement.span)
        case AlterRenameColumn():
            _column_name(statement.new_name, statement.span)
        case Insert():
            _distinct(statement.columns, statement.table.span)
        case Update():
            _assignments(statement.assignments)


def _definition(statement: Definition) -> None:
    match statement:
        case CreateTable() | CreateSource():
            _elements(statement, statement.includes)
            if isinstance(statement, CreateTable):
                _conflict(statement.conflict)
            elif statement.for_tables:
                _outputs(statement)
        case CreateTableAs() | CreateMaterializedView() | CreateView():
            _distinct(statement.columns, statement.name.span)
            for column in statement.columns:
                _column_name(column, statement.name.span)
        case CreateSink():
            _distinct(statement.target_columns, statement.name.span)
        case CreateFunction():
            _distinct([p.name for p in statement.parameters if p.name], statement.name.span)
            _distinct([p.name for p in statement.returns_table if p.name], statement.name.span)


def _outputs(source: CreateSource) -> None:
    for output in source.transforms:
        _object_name(output.alias or output.table or "", output.name_span)
        _elements(output, source.includes)


def _elements(
    of: CreateSource | CreateTable | Transform, includes: tuple[IncludeColumn, ...]
) -> None:
    _columns(of.columns)
    if of.primary_key is not None:
        key = of.primary_key
        _distinct(key.columns, key.span)
        _check_known(key.columns, of.columns, key.span)
    for watermark in of.watermarks:
        _check_known((watermark.column,), of.columns, watermark.span)
    for included in includes:
        _column_name(included.name, included.span)
    named = [*(c.name for c in of.columns), *(i.name for i in includes)]
    _distinct(named, includes[-1].span if includes else None)
    watermarked = [w.column for w in of.watermarks]
    _distinct(watermarked, of.watermarks[-1].span if watermarked else None)


def _columns(columns: Iterable[ColumnDef]) -> None:
    seen: set[str] = set()
    for column in columns:
        _column_name(column.name, column.span)
        if column.name in seen:
            _duplicate(column.name, column.span)
        seen.add(column.name)
        if column.generated is not None and column.default is not None:
            raise SqlSyntaxError(
                "E0124",
                f'column "{column.name}" is generated and has a default',
                span=column.span,
                hint="keep one of them",
            )


def _check_known(names: Iterable[str], columns: tuple[ColumnDef, ...], span: Span | None) -> None:
    if not columns:
        return
    known = {column.name for column in columns}
    for name in names:
        if name not in known:
            raise SqlSyntaxError(
                "E0125",
                f'there is no column "{name}" in this definition',
                span=span,
                hint=f"the columns are {', '.join(c.name for c in columns)}",
            )


def _conflict(conflict: ConflictClause | None) -> None:
    if conflict is not None:
        _assignments(conflict.assignments)
        _distinct(conflict.version_columns, conflict.span)


def _assignments(assignments: Iterable[Assignment]) -> None:
    seen: set[str] = set()
    for assignment in assignments:
        for column in assignment.columns:
            if column in seen:
                _duplicate(column, assignment.span)
            seen.add(column)


def _distinct(names: Iterable[str], span: Span | None) -> None:
    for name in _find_repeats(names):
        _duplicate(name, span)


def _find_repeats(names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)


def _duplicate(name: str, span: Span | None) -> None:
    raise SqlSyntaxError(
        "E0126", f'column "{name}" is named twice', span=span, hint="keep one of them"
    )


def check_visible(name: str, span: Span | None) -> None:
    """Raise E0127 for a column's name that hidden columns have."""
    if name.startswith("__") or name in HIDDEN_COLUMNS:
        raise SqlSyntaxError(
            "E0127",
            f'the column name "{name}" is reserved for hidden columns',
            span=span,
            hint="choose a name that does not start with __",
        )


def _column_name(name: str, span: Span | None) -> None:
    check_visible(name, span)
    _storable(name, span)


def _object_name(name: str, span: Span | None) -> None:
    suffix = next((s for s in COMPANION_SUFFIXES if name.endswith(s)), None)
    if name.startswith("__") or suffix is not None:
        what = f"names that end in {suffix} are" if suffix else "names that start with __ are"
        raise SqlSyntaxError(
            "E0128", f'"{name}": {what} reserved for companions', span=span, hint="rename it"
        )
    _storable(name, span)


def _storable(name: str, span: Span | None) -> None:
    if _FORBIDDEN_CHARACTERS.intersection(name) or name in (".", "..") or name.strip() != name:
        fault = "has characters that cannot be stored"
    elif len(name.encode()) > LIMITS.name_bytes:
        fault = f"is longer than {LIMITS.name_bytes} bytes"
    else:
        return
    raise SqlSyntaxError(
        "E0129",
        f'the name "{name[:40]}" {fault}',
        span=span,
        hint="use letters, digits and underscores",
    )
