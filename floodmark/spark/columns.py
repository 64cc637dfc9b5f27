"""Names of the columns that frames have besides those of their rows."""

from __future__ import annotations

from floodmark.changelog import WEIGHT
from floodmark.scalar.types import INT, Field

ROUTE = "floodmark__route"
"""INT: which table a written row belongs to; becomes a folder, not a column."""


WATERMARK = "__watermark"
"""VARCHAR in a late table: the watermark that the row was below."""


WEIGHT_FIELD = Field(WEIGHT, INT, nullable=False)
