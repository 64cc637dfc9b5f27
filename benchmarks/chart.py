"""A plot of rates as SVG: a line per case, a dot per system, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 820, 150, 24, 46, 22
_COLOURS = (
    "#1f5fa8", "#5aa0e0", "#c2410c", "#f0954b", "#7a7a7a", "#2e7d4f", "#8e44ad", "#b8860b",
    "#d6336c",
)  # fmt: skip


def dots(
    title: str, unit: str, systems: Sequence[str], rows: Mapping[str, Mapping[str, float]]
) -> str:
    """Return the plot: `rows` has a value above zero by case and system; what lacks has no dot."""
    values = [value for row in rows.values() for value in row.values()]
    low = math.floor(math.log10(min(values, default=1.0)))
    high = max(low + 1, math.ceil(math.log10(max(values, default=10.0))))
    height = _TOP + _ROW * len(rows) + 34
    parts = [_text(12, 18, title, "start", bold=True), *_legend(systems)]
    for power in range(low, high + 1):
        x = _x(10.0**power, low, high)
        parts.append(_line(x, _TOP, x, height - 30))
        parts.append(_text(x, height - 14, f"{10.0**power:,g}", "middle"))
    parts.append(_text(_WIDTH - _RIGHT, height - 2, unit, "end"))
    for number, (name, row) in enumerate(rows.items()):
        y = _TOP + _ROW * (number + 0.5)
        parts += [_line(_LEFT, y, _WIDTH - _RIGHT, y), _text(_LEFT - 10, y + 4, name, "end")]
        parts += [_dot(system, systems, value, low, high, y) for system, value in row.items()]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="12">'
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>{"".join(parts)}</svg>\n'
    )


def _dot(system: str, systems: Sequence[str], value: float, low: int, high: int, y: float) -> str:
    colour = _COLOURS[systems.index(system) % len(_COLOURS)]
    return (
        f'<circle cx="{_x(value, low, high):.1f}" cy="{y:.1f}" r="5" fill="{colour}">'
        f"<title>{escape(system)}: {value:,.4g}</title></circle>"
    )


def _legend(systems: Sequence[str]) -> list[str]:
    parts, x = [], float(_LEFT)
    for number, system in enumerate(systems):
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(f'<circle cx="{x:.0f}" cy="32" r="5" fill="{colour}"/>')
        parts.append(_text(x + 9, 36, system, "start"))
        x += 26 + 7.0 * len(system)
    return parts


def _x(value: float, low: int, high: int) -> float:
    return _LEFT + (math.log10(value) - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#dddddd"/>'


def _text(x: float, y: float, text: str, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'
