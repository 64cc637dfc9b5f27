"""The next files of a Delta table to read, and their place in the order of rows.

Every split says that more of the table is to come, so that the last logged split is at hand. It has
the version up to which the table is taken in, and the number of files of a first snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from floodmark.connectors.base import Split
from floodmark.connectors.files.discovery import digest_of, stat_file
from floodmark.errors import DataError, OutOfReach
from floodmark.scalar.types import VARCHAR, Field, Schema
from floodmark.storage.delta import feed as delta_feed
from floodmark.storage.delta.feed import FeedCommit, FeedFile
from floodmark.storage.delta.log import LOG
from floodmark.storage.objects.local import LocalObjects

PARTITION = 0
APPEND, CHANGE_FEED = "append", "change_feed"
TABLE = "the table"
"""What stands for a file's name in the log: all splits are of one thing that never ends."""


@dataclass(frozen=True, slots=True)
class TableFeed:
    """A table, how its commits are read, and where that starts.

    Of mode append, commits that take rows away are refused, unless those that only do
    (`ignores_deletes`) or all such commits (`skips_changes`) are passed over. From `first` on
    commits are read; without it, all that the table holds comes before them.
    """

    source: str
    folder: Path
    schema: Schema
    mode: str = APPEND
    ignores_deletes: bool = False
    skips_changes: bool = False
    first: int | None = None

    def splits(self, last: Split | None, position: int, limit: int) -> tuple[Split, ...]:
        """Return the splits of whole commits after the last one logged, of about `limit` rows.

        Of a first snapshot only some files may come. Raises E0486 to E0489.
        """
        span = self._span()
        out: list[Split] = []
        try:
            for commit in self._commits(last, span):
                room = limit - sum(split.estimate for split in out)
                if out and room <= 0:
                    return _mark_continued(out)
                at = out[-1].end if out else position
                out += self._of_commit(commit, at, out[-1] if out else last, room)
                if out and out[-1].payload.get("left"):
                    return _mark_continued(out)
        except DataError:
            # What comes before the commit that cannot be read is taken in first.
            if not out:
                raise
            return _mark_continued(out)
        return tuple(out)

    def _span(self) -> tuple[int, int]:
        try:
            versions = delta_feed.versions(LocalObjects(self.folder))
        except OSError as error:
            raise self._no_table(error.strerror or str(error)) from error
        if versions is None:
            raise self._no_table(f"there is no {LOG}")
        return versions

    def _no_table(self, why: str) -> OutOfReach:
        return OutOfReach(
            "E0486",
            f"source {self.source}: no Delta table at {self.folder}: {why}",
            hint="check the source's path option; the table may also be created later",
        )

    def _commits(self, last: Split | None, span: tuple[int, int]) -> Iterator[FeedCommit]:
        """Yield what is to be read: the rest of a snapshot, then commits."""
        oldest, newest = span
        after = newest if last is None else int(last.payload["version"])
        if last is None and self.first is not None:
            after = self.first - 1
        elif last is None or last.payload.get("left"):
            snapshot = delta_feed.snapshot(LocalObjects(self.folder), after)
            if snapshot is None:
                raise self._missing_error(after, oldest)
            yield snapshot
        for version in range(after + 1, newest + 1):
            commit = delta_feed.commit(LocalObjects(self.folder), version)
            if commit is None:
                raise self._missing_error(version, oldest)
            yield commit

    def _missing_error(self, version: int, oldest: int) -> DataError:
        return DataError(
            "E0489",
            f"source {self.source}: version {version} of {self.folder} is not in its log any more; "
            f"the oldest is {oldest}",
            hint="create the source again: it starts with all rows; and keep more of the log "
            "(delta.logRetentionDuration)",
        )

    def _of_commit(
        self, commit: FeedCommit, position: int, last: Split | None, room: int
    ) -> list[Split]:
        if commit.refused is not None:
            raise self._unreadable_error(commit.version, commit.refused)
        is_snapshot = last is None and self.first is None
        is_snapshot |= last is not None and bool(last.payload.get("left"))
        chosen = list(self._row_files(commit))
        skipped = 0
        if is_snapshot and last is not None:
            skipped = len(chosen) - int(last.payload["left"])
        out: list[Split] = []
        for number, (kind, file) in enumerate(chosen):
            if number < skipped:
                continue
            if is_snapshot and out and sum(s.estimate for s in out) >= room:
                out[-1] = _add_payload(out[-1], left=len(chosen) - number)
                break
            out += self._split(commit.version, kind, file, out[-1].end if out else position)
        return out

    def _row_files(self, commit: FeedCommit) -> Iterator[tuple[str, FeedFile]]:
        """Yield the files with rows that come, in order, and what each says of its rows."""
        adds, removes, feed = (commit.files_of_kind(kind) for kind in ("add", "remove", "cdc"))
        if self.mode == CHANGE_FEED:
            if feed:
                yield from (("cdc-", file) for file in feed)
                yield from (("cdc+", file) for file in feed)
                return
            yield from (("remove", file) for file in removes)
        elif removes:
            if self.skips_changes or (self.ignores_deletes and not adds):
                return
            raise self._removal_error(commit.version, only=not adds)
        yield from (("add", file) for file in adds)

    def _removal_error(self, version: int, *, only: bool) -> DataError:
        option = "ignore_deletes" if only else "skip_change_commits"
        what = "deletes rows" if only else "rewrites or deletes rows"
        return DataError(
            "E0488",
            f"source {self.source}: version {version} of {self.folder} {what}, but the source is "
            "append-only",
            hint=f"mode = 'change_feed' with a PRIMARY KEY follows the table; {option} = 'true' "
            "skips such commits",
        )

    def _unreadable_error(self, version: int, why: str) -> DataError:
        return DataError(
            "E0487",
            f"source {self.source}: version {version} of {self.folder} cannot be read: {why}",
            hint="REORG TABLE … APPLY (PURGE) writes deletion vectors into the files; other "
            "features have to be dropped from the table, or its rows copied to a plain one",
        )

    def _split(self, version: int, kind: str, file: FeedFile, position: int) -> list[Split]:
        """Return the split of a file, none of an empty one."""
        if file.masked:
            raise self._unreadable_error(version, f"{file.path} has a deletion vector")
        # Loads pyarrow: only where needed.
        from floodmark.connectors.files import parquet as files_parquet

        path = self.folder / file.path
        listed = stat_file(path)
        if listed is None:
            raise DataError(
                "E0489",
                f"source {self.source}: {path}, of version {version}, is gone",
                hint="VACUUM has removed it: keep more history, and create the source again",
            )
        values = dict(file.partition)
        extra = (Field("_change_type", VARCHAR),) if kind.startswith("cdc") else ()
        near = {name.lower() for name in values}
        inside = tuple(f for f in self.schema if f.name.lower() not in near)
        facts = files_parquet.inspect_parquet(listed, (*inside, *extra))
        if facts.bad is not None:
            raise self._unreadable_error(version, f"{path} is broken: {facts.bad}")
        if not facts.rows:
            return []
        types: dict[str, Any] = dict(facts.extra.get("types", {}))
        types |= {f.name: None for f in self.schema if f.name.lower() in near}
        payload: dict[str, Any] = {
            "file": TABLE, "rest": True, "version": version, "kind": kind, "path": file.path,
            "size": listed.size, "mtime": listed.mtime, "digest": digest_of(path),
        }  # fmt: skip
        payload |= {"values": values} if values else {}
        payload |= {"types": types} if types else {}
        return [Split(PARTITION, position, position + facts.rows, facts.rows, payload)]


def _add_payload(split: Split, **more: Any) -> Split:
    return replace(split, payload={**split.payload, **more})


def _mark_continued(splits: Sequence[Split]) -> tuple[Split, ...]:
    """Return splits after which more is on offer."""
    return tuple(replace(split, partition_end=False) for split in splits)
