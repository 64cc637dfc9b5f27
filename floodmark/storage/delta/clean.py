"""Deleting what no kept version of a Delta table needs: data files, and log before a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from floodmark.storage.delta import log as delta_log
from floodmark.storage.delta.log import Snapshot
from floodmark.storage.objects.contract import ObjectHead, Objects


def delete_unneeded(table: Objects, oldest: Snapshot, before: datetime) -> int:
    """Delete the files last written before a time that no version since `oldest` needs.

    Orphans of failed attempts are among them. Returns how many data files went.
    """
    needed = set(oldest.files)
    version = oldest.version + 1
    while (actions := delta_log.read_commit(table, version)) is not None:
        needed.update(delta_log.paths_to_add(actions))
        version += 1
    log = f"{delta_log.LOG}/"
    heads = dict(table.heads())
    data = [k for k in heads if k not in needed and not k.startswith(log)]
    deleted = _delete_older(table, heads, data, before)
    _delete_older(table, heads, _log_before_checkpoint(table, oldest.version), before)
    return deleted


def _delete_older(
    table: Objects, heads: Mapping[str, ObjectHead], keys: Iterable[str], before: datetime
) -> int:
    """Delete what was written before a time; what is no object, or is gone, is never old."""
    limit = before.timestamp() * 1e9
    older = [key for key in keys if key in heads and heads[key].modified < limit]
    table.delete(older)
    return len(older)


def _log_before_checkpoint(table: Objects, oldest: int) -> list[str]:
    """Return the keys of the log that the newest checkpoint up to a version makes needless."""
    kept = max((v for v in delta_log.checkpoint_versions(table) if v <= oldest), default=None)
    if kept is None:
        return []
    found = ((name, name.partition(".")[0]) for name in delta_log.names_in_log(table))
    older = (name for name, number in found if number.isdigit() and int(number) < kept)
    return [f"{delta_log.LOG}/{name}" for name in older if not name.endswith("/")]
