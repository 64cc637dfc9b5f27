"""Who may know a path of the disk: above `storage`, files of the warehouse are known by keys alone.

Whoever lowers these lists lowers them here. What is added to one says which files it handles, and
they are none of the warehouse's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.source_trees import HOUSE, module_paths, nodes_of

PATHS = {
    "api.py": "connect() takes the folders of the warehouse and the pipelines that a user names",
    "catalog/option_values.py": "folders that options name",
    "catalog/places.py": "relative paths of sources and sinks, and the project that they start at",
    "cli": "files and folders that a user names, and what the commands look at on this machine",
    "connectors": "files, tables and databases of sources and sinks, and files of COPY",
    "report/page.py": "the file of the report",
    "session/audit/schemas.py": "files of schemas beside the pipelines",
    "session/ddl/deployment.py": "the project that relative paths start at",
    "session/ddl/desired.py": "files of the pipelines",
    "session/ddl/sink_paths.py": "paths of sinks",
    "spark": "the cache: servers, jars, certificates, locks between processes",
    "sql/files.py": "files of SQL",
    "stream/objects/external_sink.py": "paths of sinks",
    "testing": "files of tests, and those that they deliver",
    "tools/diff_sides.py": "Delta tables elsewhere that a user names",
    "tools/linting.py": "files of the pipelines",
    "warehouse/project_folder.py": "the project that relative paths start at",
    "warehouse/warehouse.py": "the project that relative paths start at",
}
"""Modules above `storage`, or whole rooms, that import `pathlib`; and why."""
FILES = {
    "catalog/places.py": "relative paths of sources and sinks",
    "cli": "the terminal, the environment, the disk that a warehouse lies on",
    "connectors": "files of sources and sinks, and those of COPY",
    "epochs/backfill/choice.py": "the environment",
    "failpoints.py": "the environment",
    "spark": "the cache",
    "stream/objects/external_sink.py": "paths of sinks",
    "testing/sql_test.py": "folders of tests",
}
"""Those that import `os`, `os.path`, `shutil`, `glob` or `tempfile`."""
PARQUET = {
    "connectors/copy": "files of COPY",
    "connectors/files": "files of sources",
    "connectors/sinks/delta.py": "files of a sink's table",
    "connectors/sinks/files.py": "files of sinks",
    "testing": "files of tests, and those that they deliver",
}
"""Those that open Parquet files by a path. `storage.plain_files` opens those of tables for all."""
_OPENERS = frozenset((
    "ParquetFile", "ParquetWriter", "dataset", "read_metadata", "read_schema", "read_table",
    "write_table", "plain", "read_plain",
))  # fmt: skip
REMOVING = {
    "connectors/copy/output.py": "a half-written file of COPY",
    "connectors/sinks": "half-written files of sinks",
    "spark": "the cache",
    "storage/backup/backup.py": "a half-written backup",
    "storage/local_files.py": "of the store on a disk",
    "storage/lease/local.py": "tickets of the lease",
    "storage/objects/local.py": "the store on a disk: the door through which all else goes",
    "storage/backup/restore.py": "a half-written copy of a backup",
}
"""Those that remove files themselves. All others ask a store, which can ask for the lease first."""
_REMOVERS = frozenset(("unlink", "rmdir", "rmtree", "removedirs"))


def test_few_modules_above_storage_know_paths() -> None:
    assert set(_rooms(PATHS, lambda p: "pathlib" in _imports(p), above=True)) == set(PATHS)


def test_few_modules_above_storage_know_files() -> None:
    files = {"os", "os.path", "shutil", "glob", "tempfile"}
    assert set(_rooms(FILES, lambda p: bool(files & _imports(p)), above=True)) == set(FILES)


def test_few_modules_above_storage_open_parquet_files() -> None:
    assert set(_rooms(PARQUET, _opens, above=True)) == set(PARQUET)


def test_no_module_above_storage_calls_open() -> None:
    assert list(_rooms({}, _calls_open, above=True)) == []


def test_who_removes_files_is_the_store() -> None:
    assert set(_rooms(REMOVING, _removes, above=False)) == set(REMOVING)


def _rooms(known: Mapping[str, str], test: Callable[[Path], bool], *, above: bool) -> Iterator[str]:
    """Yield the modules that pass a test, as a list knows them: by themselves or by their room."""
    for path in module_paths():
        name = path.relative_to(HOUSE)
        if above and name.parts[0] == "storage":
            continue
        if test(path):
            names = (name.as_posix(), *(p.as_posix() for p in name.parents))
            yield next((n for n in names if n in known), name.as_posix())


def _imports(path: Path) -> set[str]:
    out = set[str]()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            out.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            out.add(node.module)
    return out


def _opens(path: Path) -> bool:
    """Tell whether a module calls what opens files by a path; a writer that it holds is open."""
    for node in nodes_of(path):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in _OPENERS:
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id="pq" | "ds"), attr=name)):
                if name in _OPENERS:
                    return True
    return False


def _calls_open(path: Path) -> bool:
    calls = (node.func for node in nodes_of(path) if isinstance(node, ast.Call))
    return any(isinstance(func, ast.Name) and func.id == "open" for func in calls)


def _removes(path: Path) -> bool:
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute):
            of_os = isinstance(node.value, ast.Name) and node.value.id == "os"
            if node.attr in _REMOVERS or (of_os and node.attr == "remove"):
                return True
    return False
