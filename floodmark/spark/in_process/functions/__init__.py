"""The functions that are computed here, one family a file."""

from __future__ import annotations

from floodmark.spark.in_process.functions import (
    arithmetic,
    choices,
    columns,
    conditions,
    dates,
    lists,
    patterns,
    texts,
    times,
)

FAMILIES = tuple(
    module.FAMILY
    for module in (
        columns,
        conditions,
        choices,
        arithmetic,
        lists,
        times,
        dates,
        texts,
        patterns,
    )
)
