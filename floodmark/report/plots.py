"""Plots as SVG: bars per epoch and lines over time, with axes that people can read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

WIDTH, HEIGHT = 560, 220
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 34
SERIES = 6
"""How many series have colours; further ones are summed up by the caller."""


def bars(epochs: Sequence[int], series: Mapping[str, Sequence[float]], unit: str) -> str:
    """Return stacked bars, one per epoch; every series has a value per epoch."""
    totals = [sum(values) for values in zip(*series.values(), strict=True)] or [0.0]
    top = nice(max(totals))
    width = (WIDTH - LEFT - RIGHT) / max(1, len(epochs))
    thick = min(40.0, max(1.0, width * 0.8))
    parts = [_grid(top, unit), *_epoch_labels(epochs, width)]
    for i, epoch in enumerate(epochs):
        below = 0.0
        x = LEFT + (i + 0.5) * width - thick / 2
        for number, (name, values) in enumerate(series.items()):
            value = values[i]
            if value <= 0:
                continue
            height = value / top * (HEIGHT - TOP - BOTTOM)
            y = HEIGHT - BOTTOM - below - height
            below += height
            tip = escape(f"epoch {epoch}, {name}: {short(value)} {unit}")
            shape = f'x="{x:.1f}" y="{y:.1f}" width="{thick:.1f}" height="{max(height, 0.5):.1f}"'
            parts.append(f'<rect class="s{number}" {shape}><title>{tip}</title></rect>')
    return _figure("".join(parts))


def lines(epochs: Sequence[int], series: Mapping[str, Sequence[float | None]], unit: str) -> str:
    """Return a line per series over the epochs; None is a gap."""
    present = [v for values in series.values() for v in values if v is not None]
    return _lines(epochs, series, 0.0, nice(max(present, default=0.0)), lambda v: short(v), unit)


def times(epochs: Sequence[int], series: Mapping[str, Sequence[datetime | None]]) -> str:
    """Return a line per series of moments over the epochs."""
    numbers = {
        name: [None if v is None else v.timestamp() for v in values]
        for name, values in series.items()
    }
    present = [v for values in numbers.values() for v in values if v is not None]
    low, high = min(present, default=0.0), max(present, default=1.0)
    slack = max((high - low) * 0.05, 1.0)
    show = _moment_text(high - low)
    return _lines(epochs, numbers, low - slack, high + slack, show, "")


def legend(names: Sequence[str]) -> str:
    """Return the legend of a plot's series."""
    items = (f'<li><i class="s{i}"></i>{escape(n)}</li>' for i, n in enumerate(names))
    return f'<ul class="legend">{"".join(items)}</ul>' if len(names) > 1 else ""


def nice(value: float) -> float:
    """Return the least top of an axis in four even steps that is not below a value.

    >>> nice(7), nice(130), nice(0)
    (8.0, 200.0, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        step * power for step in (1.0, 2.0, 4.0, 6.0, 8.0, 10.0) if value <= step * power * 1.0001
    )


def short(value: float) -> str:
    """Return a number in few characters.

    >>> short(1234567), short(12500), short(0.25), short(7)
    ('1.2M', '12.5k', '0.25', '7')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f}".removesuffix(".0") + letter
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _lines(
    epochs: Sequence[int],
    series: Mapping[str, Sequence[float | None]],
    low: float,
    high: float,
    show: Callable[[float], str],
    unit: str,
) -> str:
    width = (WIDTH - LEFT - RIGHT) / max(1, len(epochs))
    parts = [_grid(high, unit, low, show), *_epoch_labels(epochs, width)]
    for number, (name, values) in enumerate(series.items()):
        points = [
            None if v is None else (LEFT + (i + 0.5) * width, _y(v, low, high))
            for i, v in enumerate(values)
        ]
        for run in _runs(points):
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in run)
            dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in run[-1:])
            parts.append(
                f'<g class="line s{number}"><title>{escape(name)}</title>'
                f'<polyline points="{path}"/>{dots}</g>'
            )
    return _figure("".join(parts))


def _runs(
    points: Sequence[tuple[float, float] | None],
) -> Iterator[list[tuple[float, float]]]:
    run: list[tuple[float, float]] = []
    for point in (*points, None):
        if point is not None:
            run.append(point)
        elif run:
            yield run
            run = []


def _y(value: float, low: float, high: float) -> float:
    return HEIGHT - BOTTOM - (value - low) / ((high - low) or 1.0) * (HEIGHT - TOP - BOTTOM)


def _grid(high: float, unit: str, low: float = 0.0, show: Callable[[float], str] = short) -> str:
    out = []
    for i in range(5):
        value = low + (high - low) * i / 4
        y = _y(value, low, high)
        out.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="tick" x="{LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">'
            f"{show(value)}</text>"
        )
    if unit:
        out.append(f'<text class="tick unit" x="{LEFT}" y="{HEIGHT - 4}">{escape(unit)}</text>')
    return "".join(out)


def _epoch_labels(epochs: Sequence[int], width: float) -> Iterator[str]:
    every = max(1, math.ceil(44 / max(width, 0.01)))
    for i, epoch in enumerate(epochs):
        if i % every == 0:
            x = LEFT + (i + 0.5) * width
            y = HEIGHT - BOTTOM + 14
            yield f'<text class="tick" x="{x:.1f}" y="{y}" text-anchor="middle">{epoch}</text>'
    yield (
        f'<text class="tick" x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">epoch</text>'
    )


def _moment_text(span: float) -> Callable[[float], str]:
    form = "%Y-%m" if span > 3 * 365 * 86_400 else "%b %d" if span > 4 * 86_400 else "%d. %H:%M"
    return lambda value: datetime.fromtimestamp(value, UTC).strftime(form)


def _figure(body: str) -> str:
    return f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{body}</svg>'
