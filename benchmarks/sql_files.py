"""Queries and tables in SQL files, as views, alone, and planned."""

from __future__ import annotations

import re
from pathlib import Path

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script
from floodmark.stream.objects.analysed import Pipeline
from floodmark.stream.objects.pipeline import analyse_catalog

_HEAD = re.compile(r"CREATE MATERIALIZED VIEW \w+ AS\s+", re.IGNORECASE)


def query_of(definition: str) -> str:
    """Return the query of a view.

    >>> query_of("-- One row.\\nCREATE MATERIALIZED VIEW v AS\\nSELECT 1 AS a;\\n")
    'SELECT 1 AS a'
    """
    return _HEAD.split(definition)[-1].strip().rstrip(";")


def tables_over(file: Path, folder: Path) -> str:
    """Return the statements of a file, with their paths below a folder."""
    text = file.read_text(encoding="utf-8")
    return re.sub(r"path = '(\w+)'", lambda match: f"path = '{folder / match[1]}'", text)


def pipeline_of(script: str, *, runs: bool = True) -> Pipeline:
    """Return the definitions of a script, analysed; raises what would refuse them.

    Unless it `runs`, what the engine cannot run is analysed, too.
    """
    catalog = Catalog()
    for statement in parse_script(script):
        assert isinstance(statement, s.Definition)
        catalog = catalog.create(statement, Origin.FILE)
    return analyse_catalog(catalog, runs=runs)
