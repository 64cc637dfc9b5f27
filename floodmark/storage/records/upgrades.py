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

from floodmark.storage.warehouse import ENGINE

Json = dict[str, Any]
UpgradeStep = Callable[[Json], Json]


def _relative_paths(entry: Json) -> Json:
    """Let paths of statements' rows start at the warehouse, wherever that was."""
    return {**entry, "paths": [_relative(path) for path in entry["paths"]]}


def _relative(path: str) -> str:
    _, engine, inner = path.rpartition(f"/{ENGINE}/")
    return f"{ENGINE}/{inner}" if engine else path


STEPS: Final[Mapping[int, Mapping[str, UpgradeStep]]] = {
    0: {"RowsEntry": _relative_paths},
}
"""By format, what each kind has to become of the next one; others stay as they are."""

FORMAT: Final = len(STEPS)
"""The newest format of records and commits that is known."""


def steps_of(kind: str, format: int) -> tuple[UpgradeStep, ...]:
    """Return the steps of a kind from a format to the newest."""
    steps = (STEPS[n].get(kind) for n in range(max(format, 0), FORMAT))
    return tuple(step for step in steps if step is not None)
