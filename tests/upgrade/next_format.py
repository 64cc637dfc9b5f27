"""A next version, for a process of a test: its records have a format more, and a step to it.

What the version of today calls `rows_out` was `rows_published` before, in records of objects.
Imported before anything else of the engine: the format is taken over by name.
"""

from __future__ import annotations

from floodmark.storage.records import upgrades

BEFORE, AFTER = "rows_published", "rows_out"


def rename_count(body: upgrades.Json) -> upgrades.Json:
    """Return a record of an object as the next format has it."""
    return {AFTER if name == BEFORE else name: value for name, value in body.items()}


def plant() -> None:
    """Let the engine of this process be of the next version."""
    steps = {**upgrades.STEPS, upgrades.FORMAT: {"ObjectRecord": rename_count}}
    vars(upgrades).update(STEPS=steps, FORMAT=len(steps))


if __name__ == "__main__":
    plant()
    from floodmark.cli import main

    main()
