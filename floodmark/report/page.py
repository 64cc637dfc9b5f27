"""The report: one HTML page that needs no network, no server and no Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path

from floodmark.api import Floodmark
from floodmark.report import graph, plots
from floodmark.report.history import EpochRow, history
from floodmark.report.objects import object_parts
from floodmark.storage.local_files import disk_errors, replace_file
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.tables.current import count_rows

LOG_ROWS = 3000


def write_report(connection: Floodmark, out: Path, *, samples: bool = False) -> None:
    """Write the page to a file; `samples` adds some rows of each object, which needs Spark.

    An older file stays until the new one is whole: `TransientError` E0504 where the disk is full.
    """
    text = page(connection, samples=samples)
    with disk_errors(str(out)):
        if out.exists() and not out.is_file():
            out.write_text(text, encoding="utf-8")  # a pipe or a terminal
            return
        out.parent.mkdir(parents=True, exist_ok=True)
        replace_file(out.resolve(), text)


def page(connection: Floodmark, *, samples: bool = False) -> str:
    """Return the page's HTML."""
    epochs = history(connection)
    pipeline = connection.deployed.pipeline
    suspended = frozenset(connection.warehouse.suspensions())
    records = connection.status()
    counts = {
        key: count_rows(connection.store, obj, records.get(key))
        for key, obj in pipeline.objects.items()
    }
    captions = {key: f"{plots.short(n)} rows" for key, n in counts.items() if n is not None}
    style, script = _resource("style.css"), _resource("behaviour.js")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Floodmark: {escape(connection.root.name)}</title><style>{style}</style></head><body><main>
{_head(connection, epochs, suspended)}
<h2>Objects</h2>
<div class="card">{graph.draw(pipeline, captions, suspended)}{_modes(bool(suspended))}</div>
<h2>Epochs</h2>
{_plots(epochs, pipeline)}
<h2>Definitions</h2>
{"".join(object_parts(connection, counts, samples=samples))}
<h2>Epoch log</h2>
{_log(epochs)}
<footer>Written by <code>floodmark report</code> at {_moment(datetime.now(UTC))}.</footer>
</main><script>{script}</script></body></html>
"""


def _has_connector(obj: AnalysedObject) -> bool:
    return obj.declared is not None and obj.declared.connector is not None


def _resource(name: str) -> str:
    return (files("floodmark.report") / name).read_text(encoding="utf-8")


def _head(connection: Floodmark, epochs: Sequence[EpochRow], suspended: frozenset[str]) -> str:
    records = [record for epoch in epochs for record in epoch.changes]
    sealed = epochs[-1] if epochs else None
    sources = {k for k, o in connection.deployed.pipeline.objects.items() if _has_connector(o)}
    tiles = [
        (str(sealed.epoch) if sealed else "none", "sealed epoch", False),
        (str(len(connection.deployed.pipeline.objects)), "objects", False),
        (f"{sum(r.rows_in for r in records if r.object in sources):,}", "rows taken in", False),
        (f"{sum(r.late_rows for r in records):,}", "late rows", False),
        (f"{sum(r.dead_rows for r in records):,}", "dead letters", False),
        (str(len(suspended)), "suspended", bool(suspended)),
    ]
    boxes = "".join(
        f'<div class="tile{" bad" if bad else ""}"><b>{value}</b><span>{label}</span></div>'
        for value, label, bad in tiles
    )
    when = f", last sealed {_moment(sealed.sealed_at)}" if sealed else ""
    return (
        f"<header><h1>{escape(connection.root.name)}</h1>"
        f"<p>{escape(str(connection.root))}{when}</p></header>"
        f'<div class="tiles">{boxes}</div>'
    )


def _modes(suspended: bool) -> str:
    names = ["append-only", "retract", *(["suspended"] if suspended else [])]
    items = "".join(f'<li><i class="{name}"></i>{name}</li>' for name in names)
    return f'<ul class="legend">{items}</ul>'


def _plots(epochs: Sequence[EpochRow], pipeline: Pipeline) -> str:
    data = [e for e in epochs if e.changes]
    if not data:
        return '<p class="none">No epoch has been sealed yet.</p>'
    numbers = [e.epoch for e in data]
    declared = {key for key, obj in pipeline.objects.items() if _has_connector(obj)}
    taken = _top(data, lambda r: r.rows_in if r.object in declared else 0)
    given = _top(data, lambda r: 0 if r.object in declared else r.rows_out)
    work = _top(data, lambda r: float(r.duration_s))
    queries = _top(data, lambda r: r.price.queries)
    waste = {
        "late": [float(sum(r.late_rows for r in e.changes)) for e in data],
        "dead": [float(sum(r.dead_rows for r in e.changes)) for e in data],
    }
    seconds = {"seconds": [e.seconds for e in data]}
    marks = _watermarks(data)
    cards = [
        _card("Rows taken in, by source and table", plots.bars(numbers, taken, "rows"), [*taken]),
        _card("Rows changed, by view", plots.bars(numbers, given, "rows"), [*given]),
        _card("Time from open to seal", plots.lines(numbers, seconds, "seconds"), []),
        _card("Work, by object (several run at once)", plots.bars(numbers, work, "s"), [*work]),
        _card("Queries, by object", plots.bars(numbers, queries, "queries"), [*queries]),
        _card("Late rows and dead letters", plots.bars(numbers, waste, "rows"), list(waste)),
    ]  # fmt: skip
    if marks:
        figure = plots.times(numbers, marks)
        cards.append(_card("Watermarks", figure, list(marks)))
    return f'<div class="plots">{"".join(cards)}</div>'


def _card(title: str, figure: str, names: Sequence[str]) -> str:
    return f'<div class="card"><h3>{escape(title)}</h3>{figure}{plots.legend(names)}</div>'


def _top(
    epochs: Sequence[EpochRow], measure: Callable[[ObjectRecord], float]
) -> dict[str, list[float]]:
    """Return a series per object; the small ones are one series, "others"."""
    sums: dict[str, float] = {}
    for epoch in epochs:
        for record in epoch.changes:
            sums[record.object] = sums.get(record.object, 0.0) + measure(record)
    ranked = sorted((k for k in sums if sums[k]), key=lambda k: -sums[k])
    named = ranked[: plots.SERIES if len(ranked) <= plots.SERIES else plots.SERIES - 1]
    values = [{r.object: float(measure(r)) for r in e.changes} for e in epochs]
    out = {name: [v.get(name, 0.0) for v in values] for name in named}
    if len(ranked) > len(named):
        out["others"] = [sum(v.values()) - sum(v.get(n, 0.0) for n in named) for v in values]
    return out


def _watermarks(epochs: Sequence[EpochRow]) -> dict[str, list[datetime | None]]:
    names = dict.fromkeys(k for e in epochs for k, r in e.objects.items() if r.watermark_time)
    return {
        name: [e.objects[name].watermark_time if name in e.objects else None for e in epochs]
        for name in list(names)[: plots.SERIES]
    }


def _log(epochs: Sequence[EpochRow]) -> str:
    body: list[str] = []
    for epoch in reversed(epochs):
        body += _epoch_rows(epoch)
        if len(body) > LOG_ROWS:
            break
    heads = "".join(
        f'<th{" class=n" if numeric else ""}>{name}</th>'
        for name, numeric in (
            ("epoch", True), ("kind", False), ("sealed at", False), ("object", False),
            ("rows in", True), ("rows out", True), ("late", True), ("dead", True),
            ("watermark", False), ("seconds", True), ("planning", True), ("in queries", True),
            ("in commits", True), ("queries", True), ("bytes read", True), ("bytes written", True),
        )
    )  # fmt: skip
    return (
        '<input type="search" id="search" placeholder="Filter, such as: departures 12" '
        'aria-label="filter the epoch log"> <span id="count" class="none"></span>'
        f'<div class="card log" id="log"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _epoch_rows(epoch: EpochRow) -> list[str]:
    head = (
        f'<td class="n">{epoch.epoch}</td><td>{epoch.kind}</td><td>{_moment(epoch.sealed_at)}</td>'
    )
    out = [
        f'<tr>{head}<td colspan="13" class="warn">{escape(note)}</td></tr>' for note in epoch.notes
    ]
    for r in epoch.changes:
        mark = r.watermark_time
        late = f'<td class="n{" warn" if r.late_rows else ""}">{r.late_rows:,}</td>'
        dead = f'<td class="n{" warn" if r.dead_rows else ""}">{r.dead_rows:,}</td>'
        out.append(
            f'<tr>{head}<td>{escape(r.object)}</td><td class="n">{r.rows_in:,}</td>'
            f'<td class="n">{r.rows_out:,}</td>{late}{dead}'
            f"<td>{_moment(mark) if mark else ''}</td>{_price(r)}</tr>"
        )
    return out


def _price(record: ObjectRecord) -> str:
    """Return the cells with what an epoch cost an object."""
    price = record.price
    seconds = (record.duration_s, record.plan_s, price.query_s, price.commit_s)
    counts = (price.queries, price.bytes_read, price.bytes_written)
    cells = [*(f"{value:.2f}" for value in seconds), *(f"{count:,}" for count in counts)]
    return "".join(f'<td class="n">{cell}</td>' for cell in cells)


def _moment(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
