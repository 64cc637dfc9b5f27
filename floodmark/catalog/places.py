"""Where relative paths start: at the project, whichever folder a command runs in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os.path import normpath
from pathlib import Path

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import CatalogObject, Origin
from floodmark.sql import statements as s

PROJECT_FILE = "floodmark.toml"
"""Marks the folder of a project; it may be empty."""
PATH = "path"


def project_of(pipelines: Path) -> Path:
    """Return the project of a folder of pipeline files.

    The nearest folder with a `floodmark.toml`, from the pipelines up; else the parent of the
    pipelines.
    """
    folder = pipelines.expanduser().absolute()
    marked = (f for f in (folder, *folder.parents) if (f / PROJECT_FILE).is_file())
    return next(marked, folder.parent)


def find_project(pipelines: Path) -> Path | None:
    """Return the project of a folder of pipeline files; None where nothing says that it is one."""
    project = project_of(pipelines)
    return project if pipelines.is_dir() or (project / PROJECT_FILE).is_file() else None


def anchor_path(project: Path, path: str) -> str:
    """Return a path that starts at a project; one that starts elsewhere is as it was.

    >>> [anchor_path(Path("/p"), path) for path in ("landing/../in", "a:b/in", "s3://bucket/in")]
    ['/p/in', '/p/a:b/in', 's3://bucket/in']
    """
    if "://" in path or "\0" in path:
        return path
    return normpath(project / Path(path).expanduser())


def resolve_paths(catalog: Catalog, deployed: Catalog, project: Path, *, filed: bool) -> Catalog:
    """Return the catalog with the places that relative paths of its objects stand for.

    Where the pipeline files are planned (`filed`), all start at their project: a warehouse has one.
    Else what is there keeps its place, or has none if it was made before places were kept.
    """
    moved = []
    for key, obj in catalog.objects.items():
        before = deployed.objects.get(key)
        settled = before is not None and _path(before) == _path(obj)
        settled = not filed and (obj.origin is Origin.FILE or settled)
        place = obj.resolved if settled else resolve_path(obj, project)
        if place != obj.resolved:
            moved.append(replace(obj, resolved=place))
    return catalog.replace(moved) if moved else catalog


def find_relocations(catalog: Catalog, project: Path) -> list[CatalogObject]:
    """Return the objects whose paths stand for another place in a project, with that place."""
    places = ((o, resolve_path(o, project)) for o in catalog.objects.values() if o.resolved)
    return [replace(o, resolved=place) for o, place in places if place != o.resolved]


def describe_move(before: Mapping[str, CatalogObject], after: CatalogObject) -> str | None:
    """Say to which other place the same path of an object leads now; None where it does not."""
    previous = before.get(after.key)
    if previous is None or previous.resolved is None or _path(previous) != _path(after):
        return None
    if previous.resolved == after.resolved:
        return None
    return f"its path {_path(after)} is {after.resolved} now, it was {previous.resolved}"


def resolve_path(obj: CatalogObject, project: Path) -> str | None:
    """Return the place of an object's relative path in a project; None where it has none."""
    path = _path(obj)
    if isinstance(obj.statement, s.RefusedDefinition):
        return obj.resolved
    if not path:
        return None
    place = anchor_path(project, path)
    return None if place == path or Path(path).is_absolute() else place


def _path(obj: CatalogObject) -> str | None:
    options: list[s.Option] = [*getattr(obj.statement, "options", ())]
    format_ = getattr(obj.statement, "format", None)
    options += getattr(format_, "options", ())
    return next((o.value for o in options if o.name.lower() == PATH), None)
