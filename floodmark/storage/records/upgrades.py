"""What records of a former format say in the next one, step by step.

A record keeps the format in which it was written. Its reader takes the body through the steps from
there to the newest. Nothing at rest is changed, so no upgrade can be cut off half-way.

A step is a pure function over the JSON of one kind of record, or of a part of one, under the name
of its class. The parts within are in the format of the record still: their own steps come after.

A new field whose default says what older records mean needs no step. An older version refuses the
record because of the field. Anything else needs one: a field renamed, removed or read differently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from floodmark.storage.warehouse import ENGINE, ROWS

Json = dict[str, Any]
UpgradeStep = Callable[[Json], Json]


def _relative_paths(entry: Json) -> Json:
    """Let paths of statements' rows start at the warehouse, wherever that was."""
    return {**entry, "paths": [_relative(path) for path in entry["paths"]]}


def _relative(path: str) -> str:
    _, engine, inner = path.rpartition(f"/{ENGINE}/")
    return f"{ENGINE}/{inner}" if engine else path


def _rows_apart(entry: Json) -> Json:
    """Let the versions of an object's rows be those of the table that has a log apart."""
    return {**entry, "versions": {_apart(t): v for t, v in entry["versions"].items()}}


def _tables_apart(entry: Json) -> Json:
    """Let the rows that leave be those of tables that have a log apart."""
    return {**entry, "tables": [_apart(table) for table in entry["tables"]]}


def _apart(table: str) -> str:
    return table if table.startswith("_") else f"{ROWS}/{table}"


STEPS: Final[Mapping[int, Mapping[str, UpgradeStep]]] = {
    0: {"RowsEntry": _relative_paths},
    1: {"ObjectRecord": _rows_apart, "PendingTables": _tables_apart},
    # State tables may have runs of groups, which former versions take for groups.
    2: {},
}
"""By format, what each kind has to become of the next one; others stay as they are."""

FORMAT: Final = len(STEPS)
"""The newest format of records and commits that is known."""


def steps_of(kind: str, format: int) -> tuple[UpgradeStep, ...]:
    """Return the steps of a kind from a format to the newest."""
    steps = (STEPS[n].get(kind) for n in range(max(format, 0), FORMAT))
    return tuple(step for step in steps if step is not None)
