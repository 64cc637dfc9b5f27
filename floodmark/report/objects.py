"""One part of the page per object: properties, SQL, plan, sample rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from floodmark.api import Floodmark
from floodmark.catalog.objects import ObjectKind
from floodmark.errors import FloodmarkError
from floodmark.plan.expr.printing import show_name
from floodmark.report.graph import anchor
from floodmark.session.inspect.dead_letters import describe_letters
from floodmark.session.inspect.reporting import Intake, intakes
from floodmark.stream.explain.explain import explain_object
from floodmark.stream.objects.analysed import AnalysedObject

SAMPLE_ROWS = 5


def object_parts(
    connection: Floodmark, counts: Mapping[str, int | None], *, samples: bool
) -> Iterator[str]:
    """Yield the part of each object, in the order in which epochs advance them."""
    pipeline = connection.deployed.pipeline
    suspended = connection.warehouse.suspensions()
    taken = intakes(connection.warehouse)
    for key, obj in pipeline.objects.items():
        mode = "suspended" if key in suspended else str(obj.relation.mode)
        note = f"<p>{escape(suspended[key].message)}</p>" if key in suspended else ""
        rows = counts[key]
        size = f"<span>{rows:,} rows</span>" if rows is not None else ""
        yield (
            f'<details class="object" id="{escape(anchor(key))}"><summary>'
            f"<b>{escape(obj.name)}</b><span>{obj.kind.value}</span>"
            f'<span class="badge {mode}">{mode}</span>{size}</summary><div class="inside">'
            f"{note}{_properties(connection, obj, taken)}"
            f"<h3>SQL</h3><pre>{escape(obj.object.text.strip())}</pre>"
            f"<h3>EXPLAIN</h3><pre>{escape(str(explain_object(obj, pipeline)))}</pre>"
            f"{_sample(connection, obj) if samples else ''}</div></details>"
        )


def _properties(connection: Floodmark, obj: AnalysedObject, taken: Mapping[str, Intake]) -> str:
    relation = obj.relation
    record = connection.status().get(obj.key)
    span = obj.object.span
    marks = {} if record is None else record.watermarks
    stored = any(obj is one for one in connection.deployed.pipeline.writing_objects)
    letters = (
        describe_letters(connection.store, obj, connection.warehouse.limits) if stored else None
    )
    due = None if record is None else record.due
    pairs = [
        ("columns", ", ".join(f"{c.name} {c.type}" for c in relation.visible)),
        ("stream key", ", ".join(show_name(c) for c in relation.stream_key) or "one row"),
        ("reads", ", ".join((*obj.reads, *obj.feeders))),
        ("watermarks", ", ".join(f"{c} {v}" for c, v in marks.items())),
        ("next due", "" if due is None else f"{due:%Y-%m-%d %H:%M:%S} UTC"),
        ("stored", str(taken.get(obj.key, ""))),
        ("dead letters", letters or ""),
        ("last epoch", str(record.position) if record is not None else ""),
        ("fingerprint", obj.fingerprint),
        ("defined in", f"{span.file}:{span.line}" if span.file else "a statement"),
    ]
    items = (f"<dt>{k}</dt><dd>{escape(v)}</dd>" for k, v in pairs if v)
    return f"<dl>{''.join(items)}</dl>"


def _sample(connection: Floodmark, obj: AnalysedObject) -> str:
    if obj.kind in (ObjectKind.SINK, ObjectKind.VIEW):
        return ""
    name = ".".join('"' + part.replace('"', '""') + '"' for part in obj.name.split("."))
    try:
        result = connection.execute(f"SELECT * FROM {name} LIMIT {SAMPLE_ROWS}")
    except FloodmarkError as error:
        return f'<h3>Rows</h3><p class="none">{escape(error.message)}</p>'
    heads = "".join(f"<th>{escape(c.name)}</th>" for c in result.columns)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in result.rows)
    return (
        f"<h3>Rows</h3><div class='card'><table><thead><tr>{heads}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(value: Any) -> str:
    if value is None:
        return '<td class="none">NULL</td>'
    kind = ' class="n"' if isinstance(value, int | float) and not isinstance(value, bool) else ""
    return f"<td{kind}>{escape(str(value)[:80])}</td>"
