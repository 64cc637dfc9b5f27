"""Floodmark's verdicts on the shapes, and the page that compares them with Flink's.

`python -m tests.flink.ours` writes docs/flink_agreement.md from `verdicts.json`, which
`tests.flink.verdicts` printed with Flink 2.3.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script
from floodmark.stream.objects.analysed import Pipeline
from floodmark.stream.objects.pipeline import analyse_catalog
from tests.flink.shapes import FLOODMARK_SETUP, SHAPES, Shape

REFUSED = ("E0320", "E0321", "E0322")
FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "flink_agreement.md"
_STORED = (
    "both accept it; an unstored lookup needs the target's table to take rows back, which it "
    "cannot above a filter, another join or several matches, so it is stored"
)
DIFFERENT = {
    "lookup without a key, left alone": _STORED,
    "lookup without a key, other key": _STORED,
    "lookup, then joined by the key": _STORED,
    "lookup and a filter on what was found": _STORED,
    "three joined, volatile in the middle": "Flink keeps the key `a.id` through a join by `b.id`, "
    "which equals it by the join below; here equal columns stand for each other in one join only",
    "filter by the time, other key": "Flink would give what the condition says now of a row that "
    "came before; here rows come and go with the time, and what is taken back is what is there",
}
"""Where the two differ, and why."""


def flink_verdicts() -> dict[str, str]:
    """Return Flink's verdict on every shape."""
    found: dict[str, str] = json.loads((FOLDER / "verdicts.json").read_text())
    return found


def setup() -> tuple[Catalog, Pipeline]:
    """Return the catalog that the shapes are over."""
    catalog = Catalog()
    for statement in parse_script(FLOODMARK_SETUP, "setup.sql"):
        assert isinstance(statement, s.Definition)
        catalog = catalog.create(statement, Origin.FILE)
    return catalog, analyse_catalog(catalog, runs=False)


def verdict(shape: Shape, catalog: Catalog, known: Pipeline) -> str:
    """Return `ok`, `stored` (a lookup join is materialized) or `refused`."""
    (statement,) = parse_script(shape.floodmark, "shape.sql")
    assert isinstance(statement, s.Definition)
    try:
        done = analyse_catalog(catalog.create(statement, Origin.FILE), known, runs=False)
    except NotSupported as error:
        assert error.code in REFUSED, error
        return "refused"
    plan = done["sink:w"].plan
    assert plan is not None
    stored = any(isinstance(node, n.LookupJoin) and node.stored for node in plan.nodes)
    return "stored" if stored else "ok"


def page(ours: Mapping[str, str]) -> str:
    """Return the text of the page."""
    theirs = flink_verdicts()
    same = sum(ours[shape.name] == theirs[shape.name] for shape in SHAPES)
    lines = [f"{same} of {len(SHAPES)} agree.", ""]
    for name, why in DIFFERENT.items():
        lines.append(f"- *{name}*: Flink {theirs[name]}, Floodmark {ours[name]}: {why}.")
    lines += ["", "| | Flink | Floodmark | query |", "|---|---|---|---|"]
    for shape in SHAPES:
        verdicts = f"{theirs[shape.name]} | {ours[shape.name]}"
        lines.append(f"| {shape.name} | {verdicts} | `{shape.sink}` ← `{shape.query}` |")
    return (FOLDER / "page.md").read_text() + "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    catalog, known = setup()
    PAGE.write_text(page({shape.name: verdict(shape, catalog, known) for shape in SHAPES}))


if __name__ == "__main__":
    main()
