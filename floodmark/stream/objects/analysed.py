"""An object of a pipeline with what was derived of it, and the pipeline of all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from floodmark.catalog.catalog import OWNED, Catalog
from floodmark.catalog.objects import CatalogObject, ObjectKind, Relation
from floodmark.changelog import ChangelogMode
from floodmark.errors import FloodmarkError
from floodmark.plan.declaration import Declaration
from floodmark.plan.declare.functions import functions_of
from floodmark.plan.declare.query_split import QuerySplit
from floodmark.plan.declare.table_options import HARMLESS_OPTIONS
from floodmark.scalar.functions.user import UserFunction
from floodmark.scalar.types import Schema
from floodmark.sql import statements as s
from floodmark.stream.objects.external_sink import ExternalSink
from floodmark.stream.objects.owners import Owner
from floodmark.stream.objects.snapshot import SNAPSHOT
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.passes.refresh import refreshes


@dataclass(frozen=True)
class AnalysedObject:
    """An object with everything that running, explaining and reporting it needs.

    `plan` is set for views and sinks; its visible columns come first, in order. `declared` is set
    for sources and tables, `split` for a source that is stored for a view. `reads` are the objects
    that its plan scans, `writes` the columns of its target that a sink fills, `owners` the sinks
    that own columns of a table. `refused` is why the engine does not run it: one that holds can be
    explained all the same. Of an `opaque` one no more is known than what is stored: its definition
    is refused, or reads what is opaque. Only definitions at rest are refused or opaque in a
    pipeline that runs.
    """

    object: CatalogObject
    relation: Relation
    plan: StreamPlan | None = None
    declared: Declaration | None = None
    reads: tuple[str, ...] = ()
    feeders: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refused: FloodmarkError | None = None
    split: QuerySplit | None = None
    external_sink: ExternalSink | None = None
    writes: tuple[str, ...] = ()
    owners: tuple[Owner, ...] = ()
    opaque: bool = False

    @property
    def key(self) -> str:
        """Return the object's key in the catalog."""
        return self.object.key

    @property
    def name(self) -> str:
        """Return the object's name."""
        return self.object.name

    @property
    def kind(self) -> ObjectKind:
        """Return the object's kind."""
        return self.object.kind

    @property
    def append_only(self) -> bool:
        """Tell whether rows are only added to the object's table; its changes are their epochs'.

        Those of a source may be seen during a period alone.
        """
        if self.declared is not None:
            return self.declared.insert_only
        return self.relation.mode is ChangelogMode.APPEND_ONLY

    @property
    def writes_outside(self) -> bool:
        """Tell whether it is a sink that writes outside of the warehouse."""
        return self.kind is ObjectKind.SINK and self.object.target is None

    @property
    def writes_epochs(self) -> bool:
        """Tell whether it has rows of its own or writes outside."""
        kinds = (ObjectKind.SOURCE, ObjectKind.TABLE, ObjectKind.MATERIALIZED_VIEW)
        return self.kind in kinds or self.writes_outside

    @property
    def transforms(self) -> bool:
        """Tell whether it stores what a TRANSFORM USING makes of the rows that come."""
        return self.declared is not None and self.declared.transform is not None

    @property
    def period(self) -> Schema:
        """Return the hidden columns that say from and before when a row is seen."""
        transform = None if self.declared is None else self.declared.transform
        return () if transform is None else transform.period

    @property
    def has_owners(self) -> bool:
        """Tell whether the rows of a table say which sinks hold them: some own columns, or did."""
        return bool(self.owners) or (OWNED,) in self.object.past

    @property
    def emits_on_close(self) -> bool:
        """Tell whether each of its rows is emitted once, when the watermark has passed."""
        return bool(getattr(self.object.statement, "emit_on_window_close", False))

    @property
    def refreshes(self) -> bool:
        """Tell whether it is a view whose rows are recomputed instead of kept incremental."""
        return refreshes(self.object)

    @property
    def fingerprint(self) -> str:
        """Return a digest that changes when the meaning of the definition does."""
        parts = [self.name, self.kind.value, repr(self.relation)]
        parts.append(self.plan.fingerprint if self.plan is not None else "")
        parts.append(repr(self.declared))
        silent = (BACKFILL, SNAPSHOT, *HARMLESS_OPTIONS)
        note = (o for o in options_of(self.object) if o.name.lower() not in silent)
        parts.append(repr(sorted((o.name, o.value) for o in note)))
        if self.external_sink is not None:
            parts.append(repr(getattr(self.object.statement, "format", None)))
        parts += [self.object.target] if self.object.target is not None else []
        parts += ["owned"] if self.has_owners else []
        parts += [self.object.text] if self.opaque else []
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Pipeline:
    """All analysed objects by key, each after what flows into it."""

    catalog: Catalog
    objects: Mapping[str, AnalysedObject] = field(default_factory=dict)

    def __getitem__(self, key: str) -> AnalysedObject:
        return self.objects[key]

    @property
    def relations(self) -> dict[str, Relation]:
        """Return the relations that queries can read."""
        readable = (o for o in self.objects.values() if o.kind is not ObjectKind.SINK)
        return {o.key: o.relation for o in readable}

    @property
    def functions(self) -> dict[str, UserFunction]:
        """Return the functions that users created, by name."""
        return functions_of(self.catalog.objects.values())

    @property
    def writing_objects(self) -> tuple[AnalysedObject, ...]:
        """Return the objects with rows of their own or that write outside, in an epoch's order."""
        return tuple(o for o in self.objects.values() if o.writes_epochs)


def options_of(obj: CatalogObject) -> tuple[s.Option, ...]:
    """Return the WITH options of a definition."""
    options: tuple[s.Option, ...] = getattr(obj.statement, "options", ())
    return options


BACKFILL = "backfill"
"""The option of a sink: whether another query is made up for in the target's rows."""
