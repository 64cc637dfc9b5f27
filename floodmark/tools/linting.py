"""`floodmark lint`: pipeline files as far as they hold, with all their mistakes and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.definition_order import DefinitionCycle, order_definitions
from floodmark.catalog.indexes import with_indexes
from floodmark.catalog.objects import CatalogObject, ObjectKind, Origin, catalog_name
from floodmark.catalog.places import project_of, resolve_path
from floodmark.catalog.references import relations_of
from floodmark.errors import FloodmarkError, Span, SqlSyntaxError
from floodmark.plan.declare.functions import functions_of
from floodmark.plan.nodes.size import guard_stack
from floodmark.session.ddl.deployment import check_definition, check_folders
from floodmark.session.ddl.desired import (
    check_file_definition,
    check_new_object,
    definitions_of,
    misplaced_statement,
    no_pipelines,
)
from floodmark.sql import statements as s
from floodmark.sql.each import RowAttempt, each_statement
from floodmark.sql.files import read_sql, sql_files
from floodmark.sql.lexer import tokenize
from floodmark.stream.lint.lint import UNUSED, Advice, lint_object, unused_functions
from floodmark.stream.ndu import DeterminismMode, with_default
from floodmark.stream.ndu.mode import OPTION
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.pipeline import analyse_object, definition_order
from floodmark.warehouse.settings import ACCEPTED, check_setting, determinism_mode, value_of

_IGNORE = re.compile(r"--[ \t]*lint:[ \t]*ignore\b[ \t]*([^\n]*)", re.IGNORECASE)
_CODE = re.compile(r"[AE]\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A mistake (`severity` "error") or a note at a place of a file."""

    code: str
    message: str
    severity: str
    file: str
    line: int
    column: int
    object: str | None = None
    hint: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class _Silencer:
    """A comment that names notes which are meant; `span` is its place."""

    span: Span
    codes: tuple[str, ...]


@dataclass
class _Lint:
    """What is known while files are read: what holds, what does not, and what waits for it."""

    findings: list[LintFinding] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    catalog: Catalog = field(default_factory=Catalog)
    mode: DeterminismMode = DeterminismMode.STRICT

    def error(self, error: FloodmarkError, place: Span | None, name: str | None = None) -> None:
        """Take down a mistake."""
        span = error.span if error.span is not None and error.span.file else place
        at = (span.file or "", span.line, span.column) if span is not None else ("", 1, 1)
        message = error.message
        self.findings.append(LintFinding(error.code, message, "error", *at, name, error.hint))

    def note(self, advice: Advice, name: str | None) -> None:
        """Take down a note."""
        span = advice.span
        at = (span.file or "", span.line, span.column) if span is not None else ("", 1, 1)
        self.findings.append(LintFinding(advice.code, advice.text, "note", *at, name))


def lint_paths(paths: Sequence[Path]) -> list[LintFinding]:
    """Return the errors and notes on pipeline files, by file and place.

    A folder stands for its `*.sql`, at any depth. A file is read together with the others of its
    pipeline folder; findings are about the named file alone. The pipeline folder is the highest one
    that is reached upwards through folders with `*.sql`. Objects that depend on a wrong definition
    are not looked at. E0365 for a path that is not there.
    """
    wanted = [file for path in paths for file in _files_of(path)]
    roots = {_root_of(file) for file in wanted}
    together = sorted({other for root in roots for other in sql_files(root)} | {*wanted})
    lint = _Lint()
    read: dict[str, tuple[str, list[RowAttempt]]] = {}
    for file in together:
        try:
            text = read_sql(file)
        except FloodmarkError as error:
            lint.error(error, None)
            continue
        read[str(file)] = (text, list(each_statement(text, str(file))))
    _define_all([attempt for _, attempts in read.values() for attempt in attempts], lint)
    _judge(lint)
    findings = [one for file, found in read.items() for one in _active_findings(lint, file, *found)]
    findings += [one for one in lint.findings if one.file not in read]
    names = {str(file) for file in wanted}
    return sorted(
        (one for one in findings if one.file in names),
        key=lambda one: (one.file, one.line, one.column, one.code),
    )


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        return sql_files(path)
    if not path.exists():
        raise no_pipelines(path)
    return [path]


def _root_of(file: Path) -> Path:
    root = file.parent
    while any(root.parent.glob("*.sql")) and root.parent != root:
        root = root.parent
    return root


def _define_all(attempts: Sequence[RowAttempt], lint: _Lint) -> None:
    """Take in what the files say: settings as they stand, then each object after what it names."""
    definitions: list[s.Definition] = []
    for attempt in attempts:
        try:
            match attempt.statement:
                case None:
                    assert attempt.error is not None
                    lint.failed |= {attempt.declares} if attempt.declares else set()
                    raise attempt.error
                case s.Definition() as definition:
                    definitions.append(with_default(definition, lint.mode))
                case s.SetOption() as setting:
                    _set(setting, lint)
                case statement:
                    raise misplaced_statement(statement)
        except FloodmarkError as error:
            lint.error(error, attempt.span, attempt.declares)
    for definition in _order(definitions, lint):
        _define(definition, lint)


def _order(definitions: list[s.Definition], lint: _Lint) -> list[s.Definition]:
    """Return definitions in the order of what they name, without those that go in circles."""
    while True:
        try:
            return order_definitions(definitions)
        except DefinitionCycle as circle:
            lint.error(circle, circle.span)
            lint.failed |= {catalog_name(m.name) for m in circle.members}
            definitions = [d for d in definitions if all(d is not m for m in circle.members)]


def _define(statement: s.Definition, lint: _Lint) -> None:
    """Put the object of a statement into the catalog, or its mistake among the findings."""
    name = catalog_name(statement.name)
    try:
        if not _waits(statement, lint.failed):
            _create(statement, lint)
        elif not isinstance(statement, s.CreateSink):
            lint.failed.add(name)
    except FloodmarkError as error:
        lint.error(error, statement.span, name)
        if name not in lint.catalog:
            lint.failed.add(name)


def _waits(statement: s.Definition, failed: set[str]) -> bool:
    """Tell whether a definition names one that does not hold: its mistake would not be its own."""
    query, into = getattr(statement, "query", None), getattr(statement, "into", None)
    names = set() if query is None else set(relations_of(query))
    names |= {catalog_name(into)} if into is not None else set()
    names |= {catalog_name(statement.table)} if isinstance(statement, s.CreateIndex) else set()
    return bool(names & failed)


def _create(statement: s.Definition, lint: _Lint) -> None:
    """Put what a definition stands for into the catalog.

    CREATE TABLE … AS has the columns of its query: it waits for the objects that the query reads.
    """
    check_file_definition(statement)
    try:
        several = definitions_of(statement, lint.catalog, Pipeline(Catalog()))
    except FloodmarkError as error:
        if _is_within(error, statement):
            raise
        lint.failed.add(catalog_name(statement.name))
        return
    for one in several:
        lint.catalog = check_new_object(lint.catalog.create(one, Origin.FILE), one)


def _is_within(error: FloodmarkError, statement: s.Definition) -> bool:
    """Tell whether an error lies in the statement itself, not in another one that it reads."""
    span, own = error.span, statement.span
    return span is None or (span.file == own.file and own.line <= span.line <= _last_line(own))


def _last_line(span: Span) -> int:
    return span.line + span.text.count("\n")


def _set(statement: s.SetOption, lint: _Lint) -> None:
    name = statement.name.lower()
    if name not in ACCEPTED:
        check_setting(name, statement.span)
    value = value_of(statement)
    if name == OPTION and value is not None:
        lint.mode = determinism_mode(value, statement.span)


def _judge(lint: _Lint) -> None:
    """Analyse what the catalog holds, and take down what there is to say of it."""
    lint.catalog = _with_places(lint.catalog)
    done: dict[str, AnalysedObject] = {}
    functions = functions_of(lint.catalog.objects.values())
    for catalog_object in definition_order(lint.catalog):
        if _follows_failure(catalog_object, lint):
            continue
        try:
            with guard_stack(catalog_object.statement.name.span):
                obj = analyse_object(catalog_object, lint.catalog, done, functions)
            if obj.refused is not None:
                raise obj.refused
            if obj.writes_epochs:
                check_definition(obj)
        except FloodmarkError as error:
            lint.error(error, catalog_object.statement.name.span, catalog_object.name)
            lint.failed.add(catalog_object.key)
        else:
            done[catalog_object.key] = obj
    ordered = {o.key: done[o.key] for o in lint.catalog.order() if o.key in done}
    pipeline = Pipeline(lint.catalog, ordered)
    _check_together(pipeline, lint)
    # What is not read may be read by what does not hold.
    unsure = {UNUSED} if any(f.severity == "error" for f in lint.findings) else set()
    for obj in pipeline.objects.values():
        for advice in lint_object(obj, pipeline):
            if advice.code not in unsure:
                lint.note(advice, obj.name)
    for advice in () if unsure else unused_functions(pipeline):
        lint.note(advice, None)


def _with_places(catalog: Catalog) -> Catalog:
    """Return the catalog with the places that relative paths stand for in each file's project."""
    files = {o.span.file for o in catalog.objects.values()}
    projects = {file: project_of(_root_of(Path(file))) for file in files if file is not None}
    return catalog.replace(
        replace(obj, resolved=resolve_path(obj, projects[obj.span.file]))
        for obj in catalog.objects.values()
        if obj.span.file is not None
    )


def _check_together(pipeline: Pipeline, lint: _Lint) -> None:
    """Note errors of indexes, and of objects that do not fit together."""
    for key, index in lint.catalog.objects.items():
        if index.kind is ObjectKind.INDEX:
            alone = Catalog({key: index})
            try:
                with_indexes(alone, Catalog(), pipeline.relations, filed=True)
            except FloodmarkError as error:
                lint.error(error, index.statement.name.span, index.name)
    try:
        check_folders(pipeline, pipeline.objects.keys())
    except FloodmarkError as error:
        lint.error(error, None)


def _follows_failure(obj: CatalogObject, lint: _Lint) -> bool:
    below = {*obj.reads, obj.target} & lint.failed
    if below:
        lint.failed.add(obj.key)
    return bool(below)


def _active_findings(
    lint: _Lint, file: str, text: str, attempts: Sequence[RowAttempt]
) -> Iterator[LintFinding]:
    """Yield the findings of a file that no comment silences, and the comments that silence none."""
    starts = [(a.span.line, a.span.column) for a in attempts]
    silencers: dict[int, list[_Silencer]] = {}
    for silencer in _silencers(text, file):
        silencers.setdefault(_owner(silencer.span, attempts), []).append(silencer)
    used: set[tuple[int, str]] = set()
    for finding in (one for one in lint.findings if one.file == file):
        place = (finding.line, finding.column)
        owner = max((i for i, start in enumerate(starts) if start <= place), default=-1)
        codes = {code for silencer in silencers.get(owner, ()) for code in silencer.codes}
        if finding.severity == "note" and finding.code in codes:
            used.add((owner, finding.code))
        else:
            yield finding
    yield from _idle(silencers, used)


def _idle(
    silencers: Mapping[int, Iterable[_Silencer]], used: set[tuple[int, str]]
) -> Iterator[LintFinding]:
    for owner, several in silencers.items():
        for one in several:
            idle = [code for code in one.codes if (owner, code) not in used]
            if idle or not one.codes:
                what = f"{', '.join(idle)} is not a note of this statement"
                text = f"{what}: the comment silences nothing" if idle else "name the notes: A104"
                at = (one.span.file or "", one.span.line, one.span.column)
                yield LintFinding("A129", text, "note", *at)


def _silencers(text: str, file: str) -> Iterator[_Silencer]:
    """Yield the comments of a file that silence notes; what looks like one in a string is none."""
    try:
        tokens = tokenize(text, file) if _IGNORE.search(text) else []
    except SqlSyntaxError:
        return
    last = 0
    for token in tokens:
        for match in _IGNORE.finditer(text[last : token.start]):
            span = Span.at(text, last + match.start(), last + match.end(), file)
            yield _Silencer(span, tuple(c.upper() for c in _CODE.findall(match.group(1))))
        last = token.end


def _owner(comment: Span, attempts: Sequence[RowAttempt]) -> int:
    """Return the statement that a comment is on: in it, behind it on its last line, or above it."""
    for i, attempt in enumerate(attempts):
        span = attempt.span
        end_line = span.line + span.text.count("\n")
        if comment.start < span.end or comment.line == end_line:
            return i
    return len(attempts)
