"""The replay audit: what an epoch did, done again, and compared with what it published."""

from __future__ import annotations

from floodmark.runtime.replay.audit import Outcome, Replayed, replay, replay_newest
from floodmark.runtime.replay.digests import RowDifference

__all__ = ["Outcome", "Replayed", "RowDifference", "replay", "replay_newest"]
