"""The replay audit: what an epoch did, done again, and compared with what it published."""

from __future__ import annotations

from floodmark.session.audit.audit import Replayed, ReplayOutcome, replay, replay_newest
from floodmark.session.audit.digests import RowDifference

__all__ = ["ReplayOutcome", "Replayed", "RowDifference", "replay", "replay_newest"]
