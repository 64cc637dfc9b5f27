"""Each option of the table is read somewhere: one without a reader would be taken and ignored."""

from __future__ import annotations

import ast

from floodmark.catalog.option_table import FORCED, KEEPING, OPTIONS
from tests.source_trees import module_paths, nodes_of

READ_BY_CONSTANTS = {FORCED: "FORCED", KEEPING: "KEEPING"}


def _texts() -> set[str]:
    """Return the strings of the engine outside of the table, and the names that it imports."""
    out = set[str]()
    for path in module_paths():
        if path.name != "option_table.py":
            for node in nodes_of(path):
                match node:
                    case ast.Constant(value=str(text)):
                        out.add(text)
                    case ast.Name(id=name):
                        out.add(name)
    return out


def test_each_option_is_read() -> None:
    texts = _texts()
    # `fields.<column>.kind` is read as `kind`, and `csv.null` as `null`, a field of the dialect.
    unread = {
        spec.name
        for spec in OPTIONS
        if not {spec.name, READ_BY_CONSTANTS.get(spec.name, spec.name)} & texts
        if spec.name.rpartition(".")[2] not in texts
    }
    assert unread == set()
