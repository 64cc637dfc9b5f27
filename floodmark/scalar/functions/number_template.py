"""The patterns of `to_char` and `to_number` for numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from floodmark.errors import NotSupported

_PIECES = re.compile("FM|MI|PR|SG|[90.,DGS]", re.IGNORECASE)
_SAME = {"D": ".", "G": ","}
_DIGITS = frozenset({"9", "0", "."})


@dataclass(frozen=True, slots=True)
class Template:
    """A pattern: its pieces in order, `D` written as `.` and `G` as `,`."""

    marks: tuple[str, ...]

    @property
    def places(self) -> tuple[str, ...]:
        """Return the pieces that a digit or the point goes to."""
        return tuple(m for m in self.marks if m in _DIGITS)

    @property
    def point(self) -> bool:
        """Tell whether there is a point."""
        return "." in self.marks

    @property
    def whole(self) -> int:
        """Return how many digits stand before the point."""
        return self.places.index(".") if self.point else len(self.places)

    @property
    def scale(self) -> int:
        """Return how many digits stand behind the point."""
        return len(self.places) - self.whole - self.point

    @property
    def bare(self) -> bool:
        """Tell whether nothing is padded."""
        return "FM" in self.marks

    @property
    def zeros(self) -> int | None:
        """Return the place from which zeros are printed before the point."""
        before = self.places[: self.whole]
        return before.index("0") if "0" in before else None

    @property
    def digits_to_last_zero(self) -> int:
        """Return how many digits, of both sides of the point, the last `0` is behind."""
        digits = [m for m in self.places if m != "."]
        return max((i + 1 for i, m in enumerate(digits) if m == "0"), default=0)

    @property
    def apart(self) -> bool:
        """Tell whether the sign has a piece of its own."""
        return not {"MI", "SG"}.isdisjoint(self.marks)

    @property
    def has_trailing_sign(self) -> bool:
        """Tell whether `S` stands behind the digits before the point, or all of them."""
        if "S" not in self.marks:
            return False
        at = self.marks.index("S")
        rest = self.marks[at:]
        return "." in self.marks[:at] or {"9", "0"}.isdisjoint(
            rest[: rest.index(".")] if "." in rest else rest
        )


def template_of(pattern: str) -> Template:
    """Return what a pattern says; E0378 where it says nothing."""
    marks = tuple(_SAME.get(p.upper(), p.upper()) for p in _PIECES.findall(pattern))
    rest = _PIECES.sub("", pattern)
    if rest:
        raise _template_error(f"{rest!r} in the pattern of a number is not known")
    if len([m for m in marks if m in "90"]) > 38:
        raise _template_error("a number has at most 38 digits")
    signs = [m for m in marks if m in ("S", "MI", "SG", "PR")]
    if marks.count(".") > 1:
        raise _template_error("the pattern of a number has one point")
    if len(signs) > 1 and not {"S", "PR"}.isdisjoint(signs):
        raise _template_error("S or PR is the only sign of a pattern")
    if "PR" in marks and not {"9", "0"}.isdisjoint(marks[marks.index("PR") :]):
        raise _template_error("PR stands behind the digits of a pattern")
    return Template(marks)


def _template_error(message: str) -> NotSupported:
    return NotSupported("E0378", message, hint="9 0 . , D G S MI SG PR FM")
