"""What the sources have that no epoch has taken in yet."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Hashable, Mapping, Sequence

from floodmark.connectors.base import Connector, Discovery, Split
from floodmark.connectors.options import Options
from floodmark.connectors.registry import connector_of
from floodmark.errors import DataError, FloodmarkError, OutOfReach
from floodmark.limits import Limits
from floodmark.storage.logs.epochs import BUCKET, EpochLog
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline


def backlog_notes(new_splits: Mapping[str, Sequence[Split]], most: int) -> list[str]:
    """Return what to log of sources, by key, that have more than `most` new rows."""
    rows = {
        source: sum(split.estimate for split in splits) for source, splits in new_splits.items()
    }
    return [f"{source} was behind: about {n:,} rows" for source, n in rows.items() if n > most]


class SplitEnumerator:
    """Asks the connectors of one warehouse; keeps them, and what each has discovered."""

    def __init__(self, log: EpochLog, limits: Limits) -> None:
        self._log = log
        self._limits = limits
        self._connectors: dict[str, tuple[AnalysedObject, Connector]] = {}
        self._discoveries: dict[str, Discovery] = {}
        self._discovered = 0
        self._nothing: frozenset[str] = frozenset()
        self._having: frozenset[str] | None = None

    def new_splits(
        self,
        pipeline: Pipeline,
        limit: int | None = None,
        needed: Collection[str] | None = None,
    ) -> dict[str, Sequence[Split]]:
        """Return the new splits, by source; a source that fails does not stop the others.

        Its error is raised once the others have nothing new, and never for a source that is not
        `needed`.
        """
        out, errors = self._ask_sources(pipeline, limit)
        if needed is not None:
            errors = {name: error for name, error in errors.items() if name in needed}
        if errors and not out:
            raise _together(errors)
        return out

    def failures(self, pipeline: Pipeline) -> Mapping[str, FloodmarkError]:
        """Return why sources cannot say what is new, by name."""
        return self._ask_sources(pipeline, 1)[1]

    def find_replaced(self, pipeline: Pipeline, splits: int = 1000) -> Mapping[str, str]:
        """Return, by source, a change of what was taken in already: its new rows are missed.

        Only the last so many epochs, and splits of a source, are looked at.
        """
        out = {}
        for source, splits_read in self.splits_in_log(
            after=self._log.head().sealed - splits
        ).items():
            declared = pipeline[source].declared if source in pipeline.objects else None
            if declared is not None and declared.connector is not None:
                try:
                    connector = self.connector(pipeline[source])
                    what = connector.find_change(splits_read[-splits:], gone=False)
                except Exception as error:  # It does not stop looking at the others.
                    what = _as_coded_error(error, source).message
                if what is not None:
                    out[source] = what
        return out

    def splits_in_log(self, after: int = 0) -> Mapping[str, Sequence[Split]]:
        """Return the splits that epochs after the given one took in, by source, oldest first.

        Of a source that began anew, those since.
        """
        out: dict[str, list[Split]] = {}
        for epoch in self._log.epochs(after=after):
            opened = self._log.open_record(epoch)
            for source in opened.restarted:
                out.pop(source, None)
            out = {opened.renamed.get(source, source): found for source, found in out.items()}
            for source, splits in opened.splits.items():
                out.setdefault(source, []).extend(map(Split.from_json, splits))
        return out

    def _ask_sources(
        self, pipeline: Pipeline, limit: int | None
    ) -> tuple[dict[str, Sequence[Split]], dict[str, FloodmarkError]]:
        self._discover()
        positions = self._log.positions()
        suspended = self._log.suspensions()
        out: dict[str, Sequence[Split]] = {}
        errors: dict[str, FloodmarkError] = {}
        nothing: set[str] = set()
        shared: dict[Hashable, tuple[Discovery, Sequence[Split]]] = {}
        for obj in pipeline.objects.values():
            if obj.declared is None or obj.declared.connector is None:
                continue
            if obj.key in suspended or obj.refused is not None:
                continue
            discovery = self._discoveries.setdefault(obj.key, Discovery())
            try:
                rows = limit or self._rows_per_epoch(obj)
                taken = positions.get(obj.key, {})
                alike = _alike(obj, rows, taken)
                known = shared.get(alike)
                if known is not None and known[0].same_as(discovery):
                    splits = known[1]
                else:
                    splits = self.connector(obj).discover_splits(taken, rows, discovery)
            except Exception as error:  # Whatever it is, it is this source's alone.
                errors[obj.name] = _as_coded_error(error, obj.name)
                continue
            if alike is not None:
                shared.setdefault(alike, (discovery, splits))
            if splits:
                out[obj.key] = splits
            else:
                nothing.add(obj.key)
        self._nothing, self._having = frozenset(nothing), frozenset(out)
        return out, errors

    def _rows_per_epoch(self, obj: AnalysedObject) -> int:
        assert obj.declared is not None
        return Options(obj.name, dict(obj.declared.options), self._limits).rows_per_epoch()

    def having(self, pipeline: Pipeline) -> frozenset[str]:
        """Return the sources that had something new when they were asked last; once they are."""
        if self._having is None:
            self._ask_sources(pipeline, 1)
        return self._having or frozenset()

    def sources_without_more(self, taken: Mapping[str, Sequence[Split]]) -> frozenset[str]:
        """Return the sources that had nothing beyond the `taken` splits when they were asked last.

        A source that failed is not among them.
        """
        ends = {k: {s.partition: s.partition_end for s in splits} for k, splits in taken.items()}
        return self._nothing | {key for key, last in ends.items() if all(last.values())}

    def connector(self, obj: AnalysedObject) -> Connector:
        """Return the connector of a source, made once."""
        cached = self._connectors.get(obj.key)
        if cached is not None and cached[0] is obj:
            return cached[1]
        connector = connector_of(obj, self._limits)
        self._connectors[obj.key] = (obj, connector)
        return connector

    def amend(self, source: str, splits: Sequence[Split]) -> None:
        """Take in that logged splits are to be read differently; what follows them is, too."""
        self._discoveries.setdefault(source, Discovery()).amend(splits)

    def _discover(self) -> None:
        """Feed the splits that were logged since last time to the discoveries."""
        if not self._discovered:
            self._discovered, sources = self._log.last_discovery()
            self._discoveries = {k: Discovery.from_json(v) for k, v in sources.items()}
        head = self._log.head()
        last = head.open.epoch if head.open is not None else head.sealed
        for epoch in self._log.epochs(after=self._discovered):
            if epoch > last:
                break
            opened = self._log.open_record(epoch)
            for source in opened.restarted:
                self._discoveries.pop(source, None)
            known = self._discoveries.items()
            self._discoveries = {opened.renamed.get(k, k): discovery for k, discovery in known}
            for source, splits in opened.splits.items():
                discovery = self._discoveries.setdefault(source, Discovery())
                discovery.add(Split.from_json(split) for split in splits)
            self._discovered = epoch
            if (epoch + 1) % BUCKET == 0:
                sources = {k: discovery.as_json() for k, discovery in self._discoveries.items()}
                self._log.record_discovered(epoch, sources)


def _alike(obj: AnalysedObject, rows: int, taken: Mapping[int, int]) -> Hashable:
    """Return a value that outputs of a source share if they read the same files equally far."""
    declared, part = obj.declared, obj.object.part
    if declared is None or part is None:
        return None
    options = tuple(declared.connecting.items())
    form = (options, declared.format, declared.encode, declared.primary_key)
    columns = (declared.physical, declared.metadata, declared.default_columns)
    return (part.group, form, columns, rows, frozenset(taken.items()))


def _as_coded_error(error: Exception, source: str) -> FloodmarkError:
    """Return why a source cannot be looked at as an error with a code."""
    if isinstance(error, FloodmarkError):
        return error
    said = _writable(f"{type(error).__name__}: {error}")
    if isinstance(error, OSError):
        return OutOfReach(
            "E0495",
            f"source {source}: its files cannot be listed or opened: {said}",
            hint="make its files readable; the other sources go on",
        )
    return DataError(
        "E0494",
        f"source {source}: listing it failed with an unknown error: {said}",
        detail=_writable("".join(traceback.format_exception(error)[-4:])),
        hint="move the newest file of its folder away and report it, with this text, as a defect; "
        "the other sources go on",
    )


def _writable(text: str) -> str:
    """Return a text without the halves of names that are not UTF-8."""
    return text.encode("utf-8", errors="backslashreplace").decode()


def _together(errors: Mapping[str, FloodmarkError]) -> FloodmarkError:
    """Return the first error, naming its source, with the others below it."""
    (name, first), *others = errors.items()
    lines = [f"  of source {name}", *(f"  {other}: {e.code} {e.message}" for other, e in others)]
    first.detail = "\n".join(([first.detail] if first.detail else []) + lines)
    return first
