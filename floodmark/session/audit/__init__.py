"""Audits: replays of sealed epochs, checks of their results, accounts of their row counts."""

from __future__ import annotations

from floodmark.session.audit.audit import ObjectReplay, ReplayOutcome, replay, replay_newest
from floodmark.session.audit.digests import RowDifference

__all__ = ["ObjectReplay", "ReplayOutcome", "RowDifference", "replay", "replay_newest"]
