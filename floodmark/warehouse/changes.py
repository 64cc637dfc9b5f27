"""Differences of two catalogs: which objects are refilled, which keep their rows, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from floodmark.catalog.catalog import RENAMED, WITHDRAWN
from floodmark.catalog.objects import ObjectKind
from floodmark.catalog.places import describe_move
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.warehouse import row_reuse
from floodmark.warehouse.row_reuse import RowReuse


@dataclass(frozen=True)
class ObjectChange:
    """One object that an apply creates, alters, renames, replaces, rebuilds, suspends or drops.


    An altered object keeps its rows and follows its new definition from the epoch on. For a
    replaced one, the difference between the new and the former query is one epoch's changes. A
    source is suspended if only the functions of its TRANSFORM USING change: its rows stay, and
    REBASE continues.
    """

    key: str
    action: str  # "create" | "alter" | "rename" | "replace" | "rebuild" | "suspend" | "drop"
    reason: str
    before: str | None = None
    after: str | None = None


def keys_to_refill(changes: Iterable[ObjectChange]) -> frozenset[str]:
    """Return the keys of the objects that are created or refilled."""
    return frozenset(c.key for c in changes if c.action in ("create", "replace", "rebuild"))


def keys_to_replace(changes: Iterable[ObjectChange]) -> frozenset[str]:
    """Return the keys of the objects that continue from the rows of their former definition."""
    return frozenset(c.key for c in changes if c.action == "replace")


def changes_between(
    before: Pipeline,
    after: Pipeline,
    corrected: Collection[str] = (),
    restarted: Collection[str] | None = None,
) -> list[ObjectChange]:
    """Return the changed objects: drops, then the others in the order in which epochs go.

    The rows of `corrected` views are others although their definition is the same. `restarted` are
    the objects that begin anew, if that is logged already: what is at rest may be theirs by now.
    """
    dropped = [
        ObjectChange(key, "drop", "no longer defined", obj.object.text)
        for key, obj in reversed(list(before.objects.items()))
        if key not in after.objects
    ]
    return [*dropped, *PipelineComparison(before, after, corrected, restarted).changes()]


@dataclass
class PipelineComparison:
    """The objects of two pipelines, one after the other, as far as they have been compared."""

    before: Pipeline
    after: Pipeline
    corrected: Collection[str]
    restarted: Collection[str] | None = None
    rebuilt: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    altered: set[str] = field(default_factory=set)
    lifted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        past = find_history(self.before, self.after).items()
        self._renamed = {key for key, said in past if any(p[0] == RENAMED for p in said)}

    def changes(self) -> Iterator[ObjectChange]:
        """Yield the changes of the objects that are defined now."""
        emptied = self._tables_to_refill()
        for key, obj in self.after.objects.items():
            old = self.before.objects.get(key)
            if old is None:
                yield ObjectChange(key, "create", "new", None, obj.object.text)
                continue
            refused = old.opaque or old.refused is not None
            action, reason = self._action(old, obj, emptied)
            if refused and action:
                action, reason = self._lift_refusal(old, obj, action, reason)
                self.lifted |= {key, obj.object.target or key}
            if action == "rebuild":
                self.rebuilt.add(key)
            if action == "alter":
                self.altered.add(key)
            if action == "suspend":
                self.stopped.add(key)
                yield ObjectChange(key, action, reason, old.object.sql, obj.object.sql)
            elif action:
                yield ObjectChange(key, action, reason, old.object.text, obj.object.text)

    def _tables_to_refill(self) -> frozenset[str]:
        """Return the tables that begin anew by their own definition: sinks fill them again."""
        pairs = ((self.before.objects.get(k), obj) for k, obj in self.after.objects.items())
        return frozenset(
            obj.key
            for old, obj in pairs
            if old is not None
            and obj.kind is ObjectKind.TABLE
            and old.fingerprint != obj.fingerprint
            and row_reuse.reshaping(old, obj) is None
            and not self._fits_stored(old, obj)
        )

    def _fits_stored(self, old: AnalysedObject, new: AnalysedObject) -> bool:
        """Tell whether rows stay of which nothing else is known; the log decides, once it can."""
        if self.restarted is not None:
            return old.opaque and new.key not in self.restarted
        return old.opaque and row_reuse.fits_stored(old, new)

    def _action(
        self, old: AnalysedObject, new: AnalysedObject, emptied: Collection[str]
    ) -> tuple[str, str]:
        """Return the action for an object, and its reason; two empty texts if it is unchanged."""
        differs = old.fingerprint != new.fingerprint
        reasons = [k for k in (*new.reads, *new.feeders) if k in self.rebuilt]
        reasons += [k for k in emptied if k == new.object.target]
        if reasons:
            names = ", ".join(dict.fromkeys(reasons))
            changed = self._own_change(old, new, kept=False)
            return changed if changed[0] == "suspend" else ("rebuild", f"{names} is rebuilt")
        if new.key in self.corrected:
            return "rebuild", "its closed rows are corrected"
        if differs:
            return self._own_change(old, new, kept=True)
        place = describe_move(self.before.catalog.objects, new.object)
        return ("", "") if place is None else ("alter", f"{place}: its rows stay")

    def _lift_refusal(
        self, old: AnalysedObject, new: AnalysedObject, action: str, reason: str
    ) -> tuple[str, str]:
        """Return the action for an object whose refusal ends; no query knows what it has missed."""
        if action == "replace":
            return "rebuild", "its former definition was refused"
        if action != "rebuild" or new.opaque:
            return action, reason
        if self._fits_stored(old, new):
            return "alter", "its former definition was refused: its rows stay"
        if old.object.statement != new.object.statement:
            return action, reason
        own = "its definition was refused: it is computed anew"
        return action, "what it reads was refused" if old.refused is None else own

    def _own_change(
        self, old: AnalysedObject, new: AnalysedObject, *, kept: bool
    ) -> tuple[str, str]:
        """Return the action that an object's own definition demands."""
        if _differs_in_functions(old, new):
            return "suspend", "functions of its TRANSFORM USING change: REBASE goes on"
        if old.object.target != new.object.target:
            return "rebuild", f"it writes into {new.object.target}: what it has written stays"
        if not kept:
            return "rebuild", "its definition changed"
        found = row_reuse.reshaping(old, new)
        if found is not None:
            return "alter", found.reason
        if row_reuse.is_widened(old, new):
            where = new.object.target or ", ".join(new.reads)
            return "alter", f"{where} has other columns: it goes on"
        if row_reuse.sends_alike(old, new):
            return "alter", "it is written in other words: it goes on"
        altered = self.altered.intersection(new.reads)
        if altered and row_reuse.reads_alike(old, new):
            return "alter", f"it does not use what changes in {', '.join(sorted(altered))}"
        renamed = self._renamed.intersection((*new.reads, new.object.target))
        if renamed and row_reuse.is_computed_alike(old, new):
            return "alter", f"columns of {', '.join(sorted(renamed))} have other names: it goes on"
        # What reads a source that stops has no epoch in which to tell what differs; nor has what
        # reads an object that was refused.
        late = self.stopped | self.lifted
        if not late.intersection(new.reads) and row_reuse.can_be_replaced(old, new):
            return "replace", "its query changed: the rows that differ change in one epoch"
        outside = [o.external_sink for o in (old, new)]
        places = [str(sink.path) for sink in outside if sink is not None]
        if len({*places}) == 2:
            return (
                "rebuild",
                f"it writes into {places[1]}: what it has written into {places[0]} stays",
            )
        return "rebuild", "its definition changed"


def find_history(before: Pipeline, after: Pipeline) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return, by key, what statements changed of objects' rows that definitions do not tell."""
    history = {}
    for key, new in after.objects.items():
        old = before.objects.get(key)
        if old is not None and len(new.object.past) > len(old.object.past):
            history[key] = new.object.past[len(old.object.past) :]
    return history


def former_definitions(
    before: Pipeline, after: Pipeline, changes: Iterable[ObjectChange]
) -> dict[str, AnalysedObject]:
    """Return the former definitions of what goes on with another query, or goes with its rows.

    What only calls a column by another name has none but its own.
    """
    past = find_history(before, after)
    renamed = {key for key, said in past.items() if any(p[0] == RENAMED for p in said)}
    former = {}
    for key in keys_to_replace(changes):
        named = renamed.intersection((*after[key].reads, after[key].object.target or ""))
        former[key] = after[key] if named else before[key]
    for said in past.values():
        former.update({p[1]: before[p[1]] for p in said if p[0] == WITHDRAWN})
    return former


def reshapings(
    before: Pipeline, after: Pipeline, changes: Iterable[ObjectChange]
) -> Mapping[str, RowReuse]:
    """Return, by key, the objects whose stored rows get other columns."""
    out = {}
    for change in changes:
        if change.action == "alter":
            one = row_reuse.reshaping(before[change.key], after[change.key])
            if one is not None and one.moves:
                out[change.key] = one
    return out


def _differs_in_functions(old: AnalysedObject, new: AnalysedObject) -> bool:
    """Tell whether no more than the meaning of functions differs, and rows are stored alike."""
    before, after = old.declared, new.declared
    if before is None or after is None or before.transform is None or after.transform is None:
        return False
    if old.fingerprint == new.fingerprint:
        return False
    alike = (old.relation, before.watermarks) == (new.relation, after.watermarks)
    return alike and old.object.statement == new.object.statement and old.period == new.period
