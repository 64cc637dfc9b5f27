"""EXPLAIN of a TRANSFORM USING: its three parts, and what is stored of a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from floodmark.catalog.objects import Relation
from floodmark.changelog import is_hidden
from floodmark.plan.declaration import LOWER, UPPER, Declaration, RowTransform
from floodmark.plan.expr.expressions import Expr, columns_of
from floodmark.plan.expr.printing import show_name, to_text

SAFE, EXPIRATION, FINAL = "Q_safemfp", "Q_expiration", "Q_final"
_WIDTH = 14


@dataclass(frozen=True, slots=True)
class TransformParts:
    """The parts of a TRANSFORM USING, each expression as text.

    `safemfp` are the columns that are computed at intake, where `condition` holds; rows are seen
    before `upper` (Q_expiration) and from `lower` (Q_final). `stored` are the columns of the table,
    hidden ones under their names in the files; of the declared ones `dropped` are not kept.
    """

    safemfp: Mapping[str, str]
    condition: str | None
    upper: str | None
    lower: str | None
    stored: tuple[str, ...]
    dropped: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            SAFE: {"columns": dict(self.safemfp), "where": self.condition},
            EXPIRATION: self.upper,
            FINAL: self.lower,
            "stored": list(self.stored),
            "not_stored": list(self.dropped),
        }

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the lines of the text form."""
        return tuple(f"{head:<{_WIDTH}}{text}".rstrip() for head, text in self._cells())

    def _cells(self) -> Iterator[tuple[str, str]]:
        passed = ", ".join(c for c, text in self.safemfp.items() if c == text)
        made = [passed] if passed else []
        made += [f"{c}: {text}" for c, text in self.safemfp.items() if c != text]
        made += [] if self.condition is None else [f"where {self.condition}"]
        yield from zip((SAFE, *[""] * len(made)), made, strict=False)
        if self.upper is not None:
            yield EXPIRATION, f"now() < {UPPER}, which is {self.upper}"
        if self.lower is not None:
            yield FINAL, f"{LOWER} <= now(), which is {self.lower}"
        yield "stored", ", ".join(self.stored)
        if self.dropped:
            yield "not stored", ", ".join(self.dropped)


def parts_of(declared: Declaration, relation: Relation) -> TransformParts | None:
    """Return the parts of a source's transformation; None without one."""
    transform = declared.transform
    if transform is None:
        return None
    stored = (f.name for f in (*relation.columns, *transform.period))
    return TransformParts(
        {show_name(name): to_text(e) for name, e in transform.columns if not is_hidden(name)},
        None if transform.condition is None else to_text(transform.condition),
        _extreme("least", transform.upper_bounds),
        _extreme("greatest", transform.lower_bounds),
        tuple(c if is_hidden(c) else show_name(c) for c in stored),
        _transient_columns(declared, transform),
    )


def _extreme(word: str, bounds: Sequence[Expr]) -> str | None:
    texts = [to_text(bound) for bound in bounds]
    if not texts:
        return None
    return texts[0] if len(texts) == 1 else f"{word}({', '.join(texts)})"


def _transient_columns(declared: Declaration, transform: RowTransform) -> tuple[str, ...]:
    """Return the declared columns that no stored one is computed from."""
    read = reduce(frozenset.union, (columns_of(e) for _, e in transform.columns), frozenset[str]())
    return tuple(show_name(c.name) for c in declared.columns if c.name not in read)
