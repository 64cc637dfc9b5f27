"""Writes docs/pictures: `python -m docs.generate_pictures`.

Epochs go from left to right, event time upwards. What is drawn is what a run gave.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from html import escape
from pathlib import Path

from docs.picture_examples import EXAMPLES
from docs.picture_runs import Example, Step, run

FOLDER = Path(__file__).parent / "pictures"
_LEFT, _TOP, _STEP, _RIGHT = 62, 46, 74, 14
_HEIGHT, _LANE = 210, 18
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.head { font-weight: 600; } .soft { fill: #6e7781; } .lane { font-weight: 600; }
.grid { stroke: #8c959f; stroke-opacity: .35; } .band { fill: #54aeff; fill-opacity: .16; }
.open { fill: none; stroke: #54aeff; stroke-dasharray: 4 3; }
.mark { fill: none; stroke: #bc4c00; stroke-width: 2.5; }
.part { fill: none; stroke: #bc4c00; stroke-width: 1.2; stroke-dasharray: 5 3; }
.row0 { fill: #0969da; } .row1 { fill: #1a7f37; } .late { fill: #cf222e; }
@media (prefers-color-scheme: dark) {
  text { fill: #d1d7e0; } .soft { fill: #9198a1; }
  .mark, .part { stroke: #f0883e; } .row0 { fill: #58a6ff; } .row1 { fill: #3fb950; }
  .late { fill: #ff7b72; }
}
"""


def picture(example: Example) -> str:
    """Return an example as SVG."""
    return _Picture(example, run(example)).text()


class _Picture:
    def __init__(self, example: Example, steps: list[Step]) -> None:
        self.example = example
        self.steps = steps
        times = [time for step in steps for _, time, _, _ in step.rows]
        times += [mark for step in steps for mark in step.marks.values()]
        times += [time for bounds in self._windows() for time in bounds]
        self.low = min(times) - timedelta(minutes=1)
        self.high = max(times) + timedelta(minutes=1)
        self.width = _LEFT + _STEP * len(steps) + _RIGHT
        most = [max(len(s.given[lane.view]) for s in steps) for lane in example.lanes]
        self.depths = [max(1, n) * 15 + _LANE for n in most]

    def text(self) -> str:
        """Return the whole picture."""
        bottom = _TOP + _HEIGHT
        height = bottom + 14 + sum(self.depths)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height}" '
            f'width="{self.width}" height="{height}" role="img">',
            f"<title>{escape(self.example.title)}</title>",
            f"<style>{_STYLE}</style>",
            _text(8, 18, self.example.title, "head"),
            *self._grid(),
            *self._bands(),
            *self._marks(),
            *self._dots(),
            *self._lanes(bottom + 14),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def _x(self, step: float) -> float:
        return _LEFT + _STEP * step

    def _y(self, time: datetime) -> float:
        part = (time - self.low) / (self.high - self.low)
        return round(_TOP + _HEIGHT * (1 - part), 1)

    def _grid(self) -> list[str]:
        out = [
            _text(self._x(i + 0.5), _TOP - 8, f"epoch {i + 1}", "soft", "middle")
            for i in range(len(self.steps))
        ]
        minutes = (self.high - self.low).seconds // 60
        every = next(n for n in (1, 2, 5, 10, 20, 30, 60) if minutes / n <= 9)
        time = self.low.replace(minute=self.low.minute // every * every)
        while time <= self.high:
            if time >= self.low:
                y = self._y(time)
                out.append(_text(_LEFT - 8, y + 4, f"{time:%H:%M}", "soft", "end"))
                out.append(_line([(_LEFT, y), (self.width - _RIGHT, y)], "grid"))
            time += timedelta(minutes=every)
        return out

    def _windows(self) -> list[tuple[datetime, datetime]]:
        if self.example.windows is None:
            return []
        view, (start, end) = self.example.lanes[0].view, self.example.windows
        rows = [row for step in self.steps for row in step.given[view]]
        return sorted({(row[start], row[end]) for row in rows})

    def _bands(self) -> list[str]:
        """Draw each window from its first row to the epoch in which it is given out."""
        out = []
        if self.example.windows is None:
            return out
        view, (start, end) = self.example.lanes[0].view, self.example.windows
        for low, high in self._windows():
            inside = [
                i
                for i, step in enumerate(self.steps)
                if any(low <= time <= high and not late for _, time, _, late in step.rows)
            ]
            given = [
                i
                for i, step in enumerate(self.steps)
                if any((row[start], row[end]) == (low, high) for row in step.given[view])
            ]
            x, right = self._x(inside[0]), self._x(given[0] + 0.72)
            top, bottom = self._y(high), self._y(low)
            out.append(
                f'<rect class="band" x="{x}" y="{top}" width="{right - x}" '
                f'height="{round(bottom - top, 1)}"/>'
            )
        return out

    def _marks(self) -> list[str]:
        """Draw the watermarks as steps; beside several, the one that releases."""
        several = len(self.example.times) > 1
        names = [(name, "part" if several else "mark") for name in self.example.times]
        if several:
            names.append((self.example.lanes[0].view, "mark"))
        out = []
        for name, style in names:
            points: list[tuple[float, float]] = []
            for i, step in enumerate(self.steps):
                if name in step.marks:
                    y = self._y(step.marks[name])
                    points += [(self._x(i + 0.72), y), (self._x(i + 1.72), y)]
            if points:
                edge = self.width - _RIGHT
                out.append(_line([(min(x, edge), y) for x, y in points], style))
        return out

    def _dots(self) -> list[str]:
        out = []
        names = list(self.example.times)
        for i, step in enumerate(self.steps):
            for j, (source, time, label, late) in enumerate(step.rows):
                x, y = self._x(i + 0.3 + 0.22 * j), self._y(time)
                style = "late" if late else f"row{names.index(source)}"
                if names.index(source):
                    out.append(
                        f'<rect class="{style}" x="{x - 4.5}" y="{y - 4.5}" width="9" height="9"/>'
                    )
                else:
                    out.append(f'<circle class="{style}" cx="{x}" cy="{y}" r="5"/>')
                out.append(_text(x + 8, y + 4, f"{label} late" if late else label, "soft"))
        return out

    def _lanes(self, top: float) -> list[str]:
        """Write below what each view gives out in each epoch."""
        out = []
        for lane, depth in zip(self.example.lanes, self.depths, strict=True):
            out.append(_line([(8, top), (self.width - _RIGHT, top)], "grid"))
            out.append(_text(8, top + 14, lane.title, "lane"))
            for i, step in enumerate(self.steps):
                for k, row in enumerate(step.given[lane.view]):
                    shown = lane.text.format(*map(_shown, row.values()))
                    y = top + 14 + 15 * (k + (1 if lane.title else 0))
                    out.append(_text(self._x(i + 0.5), y, shown, "", "middle"))
            top += depth
        return out


def _shown(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%H:%M}"
    return "NULL" if value is None else str(value)


def _text(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    kind = f' class="{style}"' if style else ""
    where = f'x="{round(x, 1)}" y="{round(y, 1)}"'
    return f'<text{kind} {where} text-anchor="{anchor}">{escape(text)}</text>'


def _line(points: list[tuple[float, float]], style: str) -> str:
    path = " ".join(f"{round(x, 1)},{round(y, 1)}" for x, y in points)
    return f'<polyline class="{style}" points="{path}"/>'


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    for example in EXAMPLES:
        (FOLDER / f"{example.name}.svg").write_text(picture(example), encoding="utf-8")


if __name__ == "__main__":
    main()
