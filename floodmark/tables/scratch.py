"""What operators put aside within one attempt of an epoch: folders beside their states, no tables.

Nobody reads them after the epoch's seal.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from floodmark.storage.table import Store
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables import layout


def drop(root: Path, store: Store, owners: Iterable[AnalysedObject]) -> None:
    """Remove what the plans of objects have put aside, those of attempts that were killed, too."""
    for owner in owners:
        folder = (root / layout.state_table(owner, "any")).parent
        drop_among(root, store, folder.glob("*"))
        with suppress(OSError):  # its states are there, or it never had any
            folder.rmdir()


def drop_among(root: Path, store: Store, folders: Iterable[Path]) -> None:
    """Remove those of some folders of states that are no tables."""
    for folder in folders:
        if not store.exists(folder.relative_to(root).as_posix()):
            shutil.rmtree(folder, ignore_errors=True)
