"""A warehouse whose project lies in another folder than when it was applied: moved, or copied.

Places of relative paths are kept with the definitions. In a copy they are those of the original:
nothing is read or written there before somebody has said that the copy is a project of its own.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from floodmark.catalog.places import find_relocations
from floodmark.errors import UserError
from floodmark.stream.objects.pipeline import analyse_catalog
from floodmark.warehouse.deployed import Deployed

_NAMED = 3
"""How many objects an error names."""


def refuse_relocation(deployed: Deployed, home: Path | None) -> None:
    """Raise E0362 where relative paths stand for other places in the project `home`.

    Nothing is refused where no project is known.
    """
    moved = [] if home is None else find_relocations(deployed.catalog, home)
    if not moved:
        return
    kept = deployed.catalog.objects
    places = [f"{o.key} was at {kept[o.key].resolved}" for o in moved[:_NAMED]]
    more = f" and {len(moved) - _NAMED} more" if len(moved) > _NAMED else ""
    raise UserError(
        "E0362",
        f"the project was applied in another folder than {home}: {', '.join(places)}{more}",
        hint="look at `floodmark plan`, then run `floodmark plan --apply`: paths then start at "
        "this folder, and rows stay; or use the folder where the project was applied",
    )


def relocate_paths(deployed: Deployed, home: Path | None) -> Deployed:
    """Return definitions whose relative paths stand for places in the project `home`.

    That is how an epoch ends that was begun before the project moved.
    """
    moved = [] if home is None else find_relocations(deployed.catalog, home)
    if not moved:
        return deployed
    catalog = deployed.catalog.replace(moved)
    return replace(deployed, pipeline=analyse_catalog(catalog, deployed.pipeline))
