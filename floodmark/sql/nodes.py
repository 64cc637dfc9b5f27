"""Query nodes that sqlglot does not have."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class WindowTable(exp.Expression):  # type: ignore[misc]
    """TUMBLE, HOP or SESSION in FROM.

    `kind` is the lower-case name, `this` the relation (Table or Subquery), `time` the time column;
    `size` for tumble and hop, `slide` for hop, `gap` for session, `offset` optional, `expressions`
    the session's partition keys. The name without TABLE( ) around, the alias as for a table.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True, "this": True, "time": True, "size": False, "slide": False, "gap": False,
        "offset": False, "expressions": False, "alias": False, "joins": False,
    }  # fmt: skip


class ConstantRows(exp.Expression):  # type: ignore[misc]
    """Many rows of VALUES as their text, `this`; where it begins is their place."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class ChangelogOf(exp.Expression):  # type: ignore[misc]
    """`CHANGELOG FROM t` as the body of a CTE; `this` is the table."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}
