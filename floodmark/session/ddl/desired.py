"""The desired definitions: the catalog that the pipeline files define."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from floodmark.catalog.catalog import Catalog, name_conflict
from floodmark.catalog.definition_order import order_definitions
from floodmark.catalog.objects import CatalogObject, ObjectKind, Origin, catalog_name, kind_of
from floodmark.catalog.places import project_of
from floodmark.catalog.renames import find_file_renames, rename_part, rewrite_names
from floodmark.errors import FloodmarkError, NotSupported, UserError
from floodmark.plan.declare.functions import check, function_of, functions_of
from floodmark.session.ddl.altering import keeping_columns
from floodmark.session.ddl.file_objects import find_same_object
from floodmark.sql import statements as s
from floodmark.sql.files import read_sql, sql_files
from floodmark.sql.parse import parse_script
from floodmark.stream.ndu import DeterminismMode, with_default
from floodmark.stream.ndu.mode import OPTION
from floodmark.stream.objects.analysed import Pipeline
from floodmark.stream.objects.pipeline import analyse_catalog
from floodmark.stream.objects.table_of_query import define_sink, define_table, is_continuous
from floodmark.warehouse.deployed import Deployed
from floodmark.warehouse.settings import determinism_mode, value_of


@dataclass(frozen=True)
class DesiredState:
    """The definitions and SET statements of the pipeline files, and where paths start."""

    definitions: tuple[s.Definition, ...]
    settings: tuple[s.SetOption, ...] = ()
    project: Path | None = None


def read_files(folder: Path) -> DesiredState:
    """Parse the files of a folder, by name; they may hold CREATE and SET only (E0360).

    Definitions may be in any order. `SET determinism` applies to those after it. Raises E0365 if
    the folder does not exist.
    """
    if not folder.is_dir():
        raise no_pipelines(folder)
    definitions: list[s.Definition] = []
    settings: list[s.SetOption] = []
    mode = DeterminismMode.STRICT
    for path in sql_files(folder):
        for statement in parse_script(read_sql(path), str(path)):
            if isinstance(statement, s.Definition):
                definitions.append(with_default(statement, mode))
            elif isinstance(statement, s.SetOption):
                settings.append(statement)
                value = value_of(statement)
                if statement.name.lower() == OPTION and value is not None:
                    mode = determinism_mode(value, statement.span)
            else:
                raise misplaced_statement(statement)
    return DesiredState(tuple(definitions), tuple(settings), project_of(folder))


def no_pipelines(path: Path) -> UserError:
    """Return the error for missing pipeline files."""
    return UserError(
        "E0365",
        f"the pipeline folder {path} does not exist"
        if path.suffix != ".sql"
        else f"the pipeline file {path} does not exist",
        hint="go to the folder of the project, or name the pipelines with "
        "--pipelines or $FLOODMARK_PIPELINES",
    )


def misplaced_statement(statement: s.Statement) -> NotSupported:
    """Return the error for a statement that is neither CREATE nor SET in a pipeline file."""
    return NotSupported(
        "E0360",
        "pipeline files hold CREATE and SET only",
        span=statement.span,
        hint="run this statement with `floodmark sql`",
    )


def catalog_of_files(
    definitions: Iterable[s.Definition], deployed: Deployed, statements: Catalog
) -> Catalog:
    """Return the objects of the files in dependency order, then those of statements.

    The files may still have the former names of renamed objects.
    """
    definitions, catalog = order_definitions(tuple(definitions)), Catalog()
    names = find_file_renames(definitions, deployed.catalog)
    for written in definitions:
        check_file_definition(written)
        named = (rewrite_names(written, names) if names.keys else None) or written
        said = None if named is written else written
        for part in definitions_of(named, catalog, deployed.pipeline):
            statement = part if said is None else rename_part(part, written, names)
            created = catalog.create(statement, Origin.FILE)
            fresh = [o for k, o in created.objects.items() if k not in catalog.objects]
            same = [find_same_object(made, said, names, deployed.catalog) for made in fresh]
            catalog = created.replace(same)
            if not _is_refused_at_rest(same, deployed):
                check_new_object(catalog, statement)
    for key, obj in statements.objects.items():
        if key not in catalog.objects:
            catalog = Catalog({**catalog.objects, key: obj})
    relations = deployed.pipeline.relations
    visible = {key: [f.name for f in r.visible] for key, r in relations.items()}
    return keeping_columns(catalog, deployed.catalog, visible)


def _is_refused_at_rest(objects: Iterable[CatalogObject], deployed: Deployed) -> bool:
    """Tell whether objects of a file are as deployed, and a function among them is refused."""
    if any(deployed.catalog.objects.get(o.key) is not o for o in objects):
        return False
    try:
        for obj in objects:
            check_new_object(deployed.catalog, obj.statement)
    except FloodmarkError:
        return True
    return False


def check_file_definition(written: s.Definition) -> None:
    """Raise E0848 for a definition that a file cannot have."""
    if isinstance(written, s.CreateTableAs) and not is_continuous(written):
        raise NotSupported(
            "E0848",
            "a pipeline file cannot fill a table once: it declares a state and can be applied "
            "repeatedly",
            span=written.name.span,
            hint="run it with `floodmark sql`, or leave continuous = false out",
        )


def definitions_of(
    statement: s.Definition, catalog: Catalog, known: Pipeline
) -> Sequence[s.Definition]:
    """Return the definitions of a statement: CREATE TABLE … AS is a table and a sink into it."""
    if not isinstance(statement, s.CreateTableAs):
        return (statement,)
    there = catalog.objects.get(catalog_name(statement.name))
    if there is not None:
        # Said of what is written, not of the table that it stands for.
        raise name_conflict(statement, there.name, there.kind.value)
    table = define_table(statement, analyse_catalog(catalog, known))
    return (table, define_sink(statement)) if is_continuous(statement) else (table,)


def check_new_object(catalog: Catalog, statement: s.Definition) -> Catalog:
    """Return the catalog with a new object; the functions that it calls must exist."""
    if kind_of(statement) is ObjectKind.FUNCTION:
        functions = functions_of(catalog.objects.values())
        function = function_of(statement)
        check(function, {n: f for n, f in functions.items() if n != function.name})
    return catalog
