"""What Flink and Spark call otherwise in the queries."""

from __future__ import annotations

import re

_DATES = ((r"'YYYY-MM-DD'", "'yyyy-MM-dd'"), (r"'HH24:MI'", "'HH:mm'"))
_CHANNEL = r"\(regexp_match\((\w+), ('[^']+')\)\)\[2\]"

_WINDOW = r"(\w+), (\w+), INTERVAL '(\d+)' SECOND"

SPARK = (
    *_DATES,
    (r"to_char\(", "date_format("),
    (_CHANNEL + r" IS NOT NULL", r"regexp_extract(\1, \2, 2) <> ''"),
    (_CHANNEL, r"regexp_extract(\1, \2, 2)"),
    (r" FOR SYSTEM_TIME AS OF PROCTIME\(\)", ""),
    (
        r"window_start, window_end(\s+FROM) SESSION\(" + _WINDOW + r", \w+\)"
        r"\s+GROUP BY (\w+), window_start, window_end",
        r"session_window.start AS window_start, session_window.end AS window_end"
        r"\1 \2 GROUP BY \5, session_window(\3, '\4 seconds')",
    ),
    (
        # A window is a call that one groups by: a column of it would have lost its watermark.
        r"window_start, window_end(\s+FROM) TUMBLE\(" + _WINDOW + r"\)"
        r"\s+GROUP BY ([\w, ]+?), window_start, window_end",
        r"window.start AS window_start, window.end AS window_end"
        r"\1 \2 GROUP BY \5, window(\3, '\4 seconds')",
    ),
    (
        r"window_end(\s+FROM) TUMBLE\(" + _WINDOW + r"\)\s+GROUP BY window_end",
        r"window.end AS window_end\1 \2 GROUP BY window(\3, '\4 seconds')",
    ),
    (
        r"window_start, window_end(\s+FROM) HOP\(" + _WINDOW + r", INTERVAL '(\d+)' SECOND\)"
        r"\s+GROUP BY (\w+), window_start, window_end",
        r"window.start AS window_start, window.end AS window_end"
        r"\1 \2 GROUP BY \6, window(\3, '\5 seconds', '\4 seconds')",
    ),
)
"""Patterns and what takes their place, in order."""

FLINK = (
    *_DATES,
    (r"to_char\(", "DATE_FORMAT("),
    (_CHANNEL, r"REGEXP_EXTRACT(\1, \2, 2)"),
    (r"split_part\((\w+), '/', (\d)\)", r"SPLIT_INDEX(\1, '/', \2 - 1)"),
    (r"\blength\(", "CHAR_LENGTH("),
    (r"\b(value|day|minute|key)\b(?! FROM|\()", r"`\1`"),
    (r" FOR SYSTEM_TIME AS OF PROCTIME\(\)", ""),
    (
        r"(TUMBLE|HOP)\((\w+), (\w+), ((?:INTERVAL '\d+' SECOND(?:, )?)+)\)",
        r"TABLE(\1(TABLE \2, DESCRIPTOR(\3), \4))",
    ),
    (
        r"SESSION\((\w+), (\w+), (INTERVAL '\d+' SECOND), (\w+)\)",
        r"TABLE(SESSION(TABLE \1 PARTITION BY \4, DESCRIPTOR(\2), \3))",
    ),
    # Grouped by its end alone it would be no window there: it would be updated, not given once.
    (r"GROUP BY window_end", "GROUP BY window_start, window_end"),
)

DIALECTS = {"spark": SPARK, "streaming": SPARK, "flink": FLINK}


def translated(text: str, system: str) -> str:
    """Return one of the queries in the dialect of a system.

    >>> translated("SELECT to_char(date_time, 'HH24:MI') FROM bid", "spark")
    "SELECT date_format(date_time, 'HH:mm') FROM bid"
    """
    for pattern, new in DIALECTS[system]:
        text = re.sub(pattern, new, text, flags=re.DOTALL)
    return text
