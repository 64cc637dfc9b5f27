"""What becomes of the rows of a view or sink whose query is another one from an epoch on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floodmark.changelog import ChangelogMode
from floodmark.errors import NotSupported
from floodmark.sql.statements import ConflictAction
from floodmark.stream.objects.analysed import BACKFILL
from floodmark.stream.objects.sinks import keeps_rows

if TYPE_CHECKING:
    from floodmark.stream.objects.analysed import AnalysedObject

DIFF, NONE = "diff", "none"
"""What the new query gives less what the former one gave; nothing."""


def continuation(sink: AnalysedObject, previous: AnalysedObject) -> str:
    """Return how a sink with another query goes on: its option, else by what it writes.

    One that is its own former definition has nothing to make up for. What one has written that
    began without a snapshot does not follow from its query.
    """
    if previous.fingerprint == sink.fingerprint:
        return NONE
    adds = sink.relation.mode is ChangelogMode.APPEND_ONLY or keeps_rows(sink.object)
    adds = adds or not _began_whole(sink, previous)
    return sink.object.word(BACKFILL) or (NONE if adds else DIFF)


def _began_whole(*sinks: AnalysedObject) -> bool:
    return all(sink.object.begins_whole for sink in sinks)


def check_difference(
    sink: AnalysedObject, previous: AnalysedObject, target: AnalysedObject
) -> None:
    """Raise E0843 where what a sink's former query gave cannot be taken out of its target."""
    declared = target.declared
    if continuation(sink, previous) == NONE or declared is None:
        return
    action = declared.conflict.action
    reasons = (
        (
            not _began_whole(sink, previous),
            "has not got all of it: the sink began without a snapshot",
        ),
        (not declared.primary_key, "has no primary key to find them by"),
        (declared.append_only, "is append-only"),
        (action is ConflictAction.DO_NOTHING, "keeps the row that was there first"),
        (action is ConflictAction.UPDATE_SET, "computes with each row that comes"),
    )
    why = next((text for holds, text in reasons if holds), None)
    if why is not None:
        statement = sink.object.statement
        raise NotSupported(
            "E0843",
            f'"{target.name}" {why}: rows of the former query of "{sink.name}" cannot be retracted',
            span=statement.name.span,
            hint="WITH (backfill = 'none') keeps them and applies the new query only to changes "
            "that come; or create another sink",
        )
