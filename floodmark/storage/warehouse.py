"""Where things lie in a warehouse: one folder per table, none inside another table's folder.

```
<root>/<schema>/<object>                 the rows with the declared columns, what users read
<root>/_rows/<schema>/<object>           the same rows with the columns of the engine
<root>/_changes/<schema>/<object>        what each epoch changed
<root>/_layers/<schema>/<object>         changes that the rows do not hold yet
<root>/_state/<schema>/<object>/<name>   operator state
<root>/_late/<schema>/<object>           late rows
<root>/_dead_letter/<schema>/<object>    rows put aside with a reason
<root>/_corrections/<schema>/<object>    what late rows change in windows that are closed
<root>/_floodmark/                       catalog log, epoch log, lease
```
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

from floodmark.errors import DataError, NotSupported

ROWS = "_rows"
CHANGES = "_changes"
LAYERS = "_layers"
STATE = "_state"
LATE = "_late"
DEAD_LETTER = "_dead_letter"
CORRECTIONS = "_corrections"
ENGINE = "_floodmark"
BACKFILLS = "backfills"
"""Below the engine's folder: how far the backfills of views have come."""
GONE = "gone"
"""Below the engine's folder: what is being removed."""
ASIDE = f"{ENGINE}/{GONE}"
"""The same, below the warehouse."""
REPLAYS = "replay"
"""Below the engine's folder: what replays write, while they run."""
STATEMENTS = "dml"
"""Below the engine's folder: the rows of statements, those that run now included."""

_PART = re.compile(r"[A-Za-z0-9_~][A-Za-z0-9_.~-]*")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_LONGEST = 200
_HEAD = 160
"""Characters of a longer folder name before the digest that takes the place of the rest."""


def local_root(root: str | Path) -> Path:
    """Return the root as an absolute local folder; what is elsewhere is refused (E0380).

    >>> local_root("file:///tmp/w").as_posix()
    '/tmp/w'
    """
    text = str(root)
    if text.startswith("file:"):
        text = re.sub(r"^file:(//(localhost(?=/))?)?", "", text)
    elsewhere = str(root).startswith("file://") and not text.startswith("/")
    if elsewhere or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text):
        raise NotSupported(
            "E0380",
            f"the warehouse {root} is not on a local disk",
            hint="use a folder of this machine as the warehouse root",
        )
    return Path(text).expanduser().absolute()


def escape(name: str) -> str:
    """Return the folder name of an object name: plain letters stay, all else becomes `~hex`.

    The result is safe in paths, URLs and Hadoop globs, has at most 200 characters, and differs for
    each name. A long name is cut, and gets a digest after `~-`. No name is refused.

    >>> escape("orders"), escape("../x"), escape("_changes")
    ('orders', '~2e.~2fx', '~5fchanges')
    >>> escape("é" * 34)[-34:]
    '~-c2061365f25e0f6f32bff7009de1be00'
    """
    if not name:
        return "~"
    pieces = [
        char if char in _PLAIN and not (i == 0 and char in "_.-") else _hex(char)
        for i, char in enumerate(name)
    ]
    escaped = "".join(pieces)
    if len(escaped) <= _LONGEST:
        return escaped
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{escaped[:_HEAD]}~-{digest}"


def publication(schema: str, name: str) -> str:
    """Return the table that others read of an object.

    >>> publication("public", "orders")
    'public/orders'
    """
    return f"{escape(schema)}/{escape(name)}"


def rows(schema: str, name: str) -> str:
    """Return the table of an object's rows.

    >>> rows("public", "orders")
    '_rows/public/orders'
    """
    return f"{ROWS}/{publication(schema, name)}"


def changes(schema: str, name: str) -> str:
    """Return the table of an object's changes."""
    return f"{CHANGES}/{publication(schema, name)}"


def layer(schema: str, name: str) -> str:
    """Return the table of changes that an object's rows do not hold yet."""
    return f"{LAYERS}/{publication(schema, name)}"


def state(schema: str, name: str, operator: str) -> str:
    """Return the table of one operator's state.

    >>> state("public", "v", "join-left")
    '_state/public/v/join-left'
    """
    return f"{STATE}/{publication(schema, name)}/{escape(operator)}"


def late(schema: str, name: str) -> str:
    """Return the table of an object's late rows."""
    return f"{LATE}/{publication(schema, name)}"


def dead_letter(schema: str, name: str) -> str:
    """Return the table of an object's dead letters."""
    return f"{DEAD_LETTER}/{publication(schema, name)}"


def corrections(schema: str, name: str) -> str:
    """Return the table of the corrections of an object that emits on window close."""
    return f"{CORRECTIONS}/{publication(schema, name)}"


def check_table(table: str) -> str:
    """Return the key of a table's folder; E0401 for a name that could leave the warehouse."""
    if not all(_PART.fullmatch(part) and len(part) <= 255 for part in table.split("/")):
        raise DataError(
            "E0401",
            f"{table[:80]!r} is not the name of a table folder",
            hint="make table names with floodmark.storage.warehouse",
        )
    return table


def _hex(char: str) -> str:
    return "".join(f"~{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
