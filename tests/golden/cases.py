"""Golden plans: SQL to the text of EXPLAIN or of the error, in YAML files beside this one.

A case has a `name`, the `sql` of one or more statements (the last one is explained, or the object
that `explains` names) or the `node` of `tests.stream.every_node`, and `expect`. `setup` at the
head of a file runs before each case; `runs: false` there explains what does not run yet, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.errors import FloodmarkError
from floodmark.plan.build.builder import build_query
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script
from floodmark.stream.explain.explain import explain_object, explain_plan
from floodmark.stream.explain.explained import Explanation
from floodmark.stream.objects.analysed import Pipeline
from floodmark.stream.objects.pipeline import analyse_catalog
from floodmark.stream.objects.planning import Use, plan_of
from floodmark.stream.operators.lower import lower
from floodmark.stream.passes.keep_keys import keep_keys
from tests.stream.every_node import unanalysed

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One case of a file."""

    file: str
    name: str
    setup: str
    sql: str
    node: str
    explains: str
    expect: str
    runs: bool = True


class _Text(str):
    """A text that is written as a block."""


def files() -> list[Path]:
    """Return the golden files in order."""
    return sorted(FOLDER.glob("*.yaml"))


def load() -> list[Case]:
    """Return all cases."""
    return [case for path in files() for case in _cases(path)]


def actual(case: Case) -> str:
    """Return what a case gives now."""
    try:
        return str(explanation(case))
    except FloodmarkError as error:
        return error.render()


def explanation(case: Case) -> Explanation:
    """Return what is explained; raise the error of what is refused."""
    if case.node:
        return explain_plan(lower(keep_keys(unanalysed()[case.node])), owner="v")
    return _explained(case)


def rewrite(path: Path) -> None:
    """Write what the cases of a file give now into it."""
    head = yaml.safe_load(path.read_text())
    for raw, case in zip(head["cases"], _cases(path), strict=True):
        for key in ("sql", "node"):
            if key in raw:
                raw[key] = _Text(raw[key]) if key == "sql" else raw[key]
        raw["expect"] = _Text(actual(case) + "\n")
    if "setup" in head:
        head["setup"] = _Text(head["setup"])
    yaml.add_representer(_Text, _block)
    path.write_text(yaml.dump(head, sort_keys=False, allow_unicode=True, width=10_000))


def _cases(path: Path) -> list[Case]:
    head: dict[str, Any] = yaml.safe_load(path.read_text())
    return [
        Case(
            path.stem, raw["name"], head.get("setup", ""), raw.get("sql", ""), raw.get("node", ""),
            raw.get("explains", ""), raw.get("expect", "").rstrip("\n"),
            head.get("runs", True),
        )
        for raw in head["cases"]
    ]  # fmt: skip


def _explained(case: Case) -> Explanation:
    catalog = Catalog()
    for statement in parse_script(case.setup, "setup.sql"):
        assert isinstance(statement, s.Definition)
        catalog = catalog.create(statement, Origin.FILE)
    known, last = analyse_catalog(catalog, runs=case.runs), ""
    for statement in parse_script(case.sql, "case.sql"):
        if isinstance(statement, s.Select):
            return _selected(statement, known)
        assert isinstance(statement, s.Definition)
        before = set(catalog.objects)
        catalog = catalog.create(statement, Origin.FILE)
        known = analyse_catalog(catalog, known, runs=case.runs)
        last = next((k for k in catalog.objects if k not in before), last)
    return explain_object(known[case.explains or last], known)


def _selected(statement: s.Select, pipeline: Pipeline) -> Explanation:
    node = build_query(statement.query, pipeline.relations, statement.span)
    return explain_plan(plan_of(node, Use.EXPLAINED).plan, pipeline)


def _block(dumper: yaml.Dumper, data: _Text) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(data), style="|")
