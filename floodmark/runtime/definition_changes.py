"""What differs between two catalogs: which objects begin anew, which keep their rows, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from floodmark.analysis.pipeline import AnalysedObject, Pipeline
from floodmark.catalog.objects import Kind


@dataclass(frozen=True)
class Change:
    """One object that an apply creates, alters, renames, rebuilds, suspends or drops, and why.

    One that is altered keeps its rows: from the epoch on it goes by its new definition. A source
    is suspended where nothing but the meaning of functions changes that its TRANSFORM USING calls:
    its rows stay, too, and REBASE goes on.
    """

    key: str
    action: str  # "create" | "alter" | "rename" | "rebuild" | "suspend" | "drop"
    reason: str
    before: str | None = None
    after: str | None = None


def begun_anew(changes: Iterable[Change]) -> frozenset[str]:
    """Return the keys of the objects that are filled anew."""
    return frozenset(c.key for c in changes if c.action in ("create", "rebuild"))


def changes_between(
    before: Pipeline, after: Pipeline, corrected: Collection[str] = ()
) -> list[Change]:
    """Return what differs, drops first, then in the order in which epochs advance objects.

    The rows of `corrected` views are others although their definition is the same.
    """
    out = [
        Change(key, "drop", "no longer defined", found.object.text)
        for key, found in reversed(list(before.objects.items()))
        if key not in after.objects
    ]
    emptied = _emptied(before, after)
    rebuilt: set[str] = set()
    for key, found in after.objects.items():
        old = before.objects.get(key)
        if old is None:
            out.append(Change(key, "create", "new", None, found.object.text))
            continue
        reason = _reason(old, found, rebuilt)
        if reason is None and key in corrected:
            reason = "its closed rows are corrected"
        if reason is None and found.object.target in emptied:
            reason = f"{found.object.target} is rebuilt"
        if reason is not None and _differs_in_functions(old, found):
            text = "functions of its TRANSFORM USING change: REBASE goes on"
            out.append(Change(key, "suspend", text, old.object.sql, found.object.sql))
        elif reason is not None:
            rebuilt.add(key)
            out.append(Change(key, "rebuild", reason, old.object.text, found.object.text))
        elif old.fingerprint != found.fingerprint:
            text = "its conflict behaviour changed: its rows stay"
            out.append(Change(key, "alter", text, old.object.text, found.object.text))
    return out


def _emptied(before: Pipeline, after: Pipeline) -> frozenset[str]:
    """Return the tables that begin anew because of their own definition: sinks fill them again."""
    pairs = ((before.objects.get(key), found) for key, found in after.objects.items())
    return frozenset(
        found.key
        for old, found in pairs
        if old is not None and found.kind is Kind.TABLE and _reason(old, found, set()) is not None
    )


def _reason(old: AnalysedObject, new: AnalysedObject, rebuilt: set[str]) -> str | None:
    if old.fingerprint != new.fingerprint and not _keeps_its_rows(old, new):
        return "its definition changed"
    feeders = [f for f in new.feeders if f in rebuilt]
    upstream = [k for k in new.reads if k in rebuilt]
    if upstream or feeders:
        return f"{', '.join(upstream + feeders)} is rebuilt"
    return None


def _differs_in_functions(old: AnalysedObject, new: AnalysedObject) -> bool:
    """Tell whether no more than the meaning of functions differs, and rows are stored alike."""
    before, after = old.declared, new.declared
    if before is None or after is None or before.transform is None or after.transform is None:
        return False
    alike = (old.relation, before.watermarks) == (new.relation, after.watermarks)
    return alike and old.object.statement == new.object.statement and old.period == new.period


def _keeps_its_rows(old: AnalysedObject, new: AnalysedObject) -> bool:
    """Tell whether nothing but the conflict behaviour of a table differs."""
    before, after = old.declared, new.declared
    if before is None or after is None or old.relation != new.relation:
        return False
    return replace(before, conflict=after.conflict) == after
