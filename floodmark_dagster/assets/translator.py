"""An analysed object to the asset that Dagster shows."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import dagster as dg

from floodmark.catalog.objects import ObjectKind
from floodmark.changelog import is_hidden
from floodmark.errors import Span
from floodmark.storage import warehouse
from floodmark.stream.explain.explain import explain_object
from floodmark.stream.explain.lineage import column_lineage
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.external_sink import DELTA
from floodmark_dagster.assets.markdown import code_block

_SINK = "__sink"
_FOREIGN = re.compile(r"[^A-Za-z0-9_]|(?<=_)0(?=x[0-9a-f]+(?:_|[^A-Za-z0-9_]))")
"""What Dagster does not allow, and the beginning of what looks like what stands for that."""


def asset_key(obj: AnalysedObject) -> dg.AssetKey:
    """Return the key of an object's asset; a sink has the name of its own and `__sink`.

    No two objects have the same one.
    """
    *schema, name = obj.name.split(".")
    key = [*map(_plain, schema), _plain(name)]
    if obj.kind is ObjectKind.SINK:
        key[-1] += _SINK
    elif name.endswith(_SINK):
        key[-1] = key[-1][:-1] + _code("k")
    return dg.AssetKey(key)


def _plain(part: str) -> str:
    """Return a name as Dagster allows it; what it does not allow becomes its code point.

    Other names become other texts.

    >>> _plain("orders_2d_total"), _plain("a-b"), _plain("a_0x2d_b")
    ('orders_2d_total', 'a_0x2d_b', 'a__0x30_x2d_b')
    """
    return _FOREIGN.sub(lambda obj: _code(obj[0]), part)


def _code(char: str) -> str:
    return f"_0x{ord(char):x}_"


def asset_spec(obj: AnalysedObject, pipeline: Pipeline, root: Path) -> dg.AssetSpec:
    """Return the asset of an object in the warehouse at `root`."""
    return dg.AssetSpec(
        key=asset_key(obj),
        deps=[asset_key(pipeline[key]) for key in (*obj.reads, *obj.feeders)],
        description=leading_comment(obj.object.statement.span),
        metadata=_metadata(obj, pipeline, root),
        group_name=_plain(obj.object.schema),
        kinds=_kinds(obj),
        code_version=obj.fingerprint,
        skippable=True,
    )


def _kinds(obj: AnalysedObject) -> set[str]:
    named = {ObjectKind.SOURCE: "source", ObjectKind.TABLE: "table"}.get(obj.kind, "view")
    if obj.external_sink is not None:
        return {
            "sink",
            "deltalake" if obj.external_sink.connector == DELTA else obj.external_sink.encode,
        }
    if obj.kind is ObjectKind.SINK:
        return {"spark", "sink"}
    return {"spark", named} | (set() if obj.kind is ObjectKind.VIEW else {"deltalake"})


def _metadata(obj: AnalysedObject, pipeline: Pipeline, root: Path) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "sql": dg.MetadataValue.md(code_block(obj.object.text.strip(), "sql")),
        "explain": dg.MetadataValue.md(code_block(str(explain_object(obj, pipeline)))),
        "dagster/column_schema": column_schema(obj),
    }
    if obj.plan is not None:
        metadata["dagster/column_lineage"] = _lineage(obj, pipeline)
    if obj.kind is ObjectKind.TABLE and not obj.opaque:
        metadata |= _writer_metadata(obj, pipeline)
    if obj.object.target is not None:
        metadata["writes_into"] = dg.MetadataValue.asset(asset_key(pipeline[obj.object.target]))
        metadata["writes_columns"] = ", ".join(obj.writes)
    if obj.kind not in (ObjectKind.SINK, ObjectKind.VIEW):
        table = warehouse.publication(obj.object.schema, obj.object.storage_base)
        metadata["dagster/table_name"] = f"{obj.object.schema}.{obj.object.base_name}"
        metadata["dagster/uri"] = (root / table).as_uri()
        metadata["dagster/storage_kind"] = "deltalake"
    if obj.external_sink is not None:
        metadata["dagster/uri"] = obj.external_sink.path.as_uri()
    references = _code_references(obj.object.statement.span)
    return metadata | ({} if references is None else {"dagster/code_references": references})


def _writer_metadata(obj: AnalysedObject, pipeline: Pipeline) -> dict[str, Any]:
    """Return who writes a table, in the order in which an epoch takes them, and which columns."""
    assert obj.declared is not None
    sinks = [pipeline[key] for key in obj.feeders]
    every = ", ".join(c.name for c in obj.declared.columns if c.generated is None)
    connector = obj.declared.connector
    writers = [] if connector is None else [("connector", connector, every)]
    writers += [("sink", sink.name, ", ".join(sink.writes)) for sink in sinks]
    writers += [("statements", "INSERT" if obj.append_only else "INSERT, UPDATE, DELETE", every)]
    metadata: dict[str, Any] = {
        "feeders": dg.MetadataValue.table([
            dg.TableRecord({"order": place, "feeder": what, "name": name, "columns": columns})
            for place, (what, name, columns) in enumerate(writers, 1)
        ]),
    }  # fmt: skip
    if obj.relation.primary_key:
        metadata["on_conflict"] = obj.declared.conflict.action.value
    if sinks:
        metadata["dagster/column_lineage"] = dg.TableColumnLineage({
            field.name: [
                dg.TableColumnDep(asset_key(o), field.name) for o in sinks if field.name in o.writes
            ]
            for field in obj.relation.visible
        })  # fmt: skip
    return metadata


def column_schema(obj: AnalysedObject) -> dg.TableSchema:
    """Return the visible columns, with keys, NOT NULL and watermarks."""
    key = obj.relation.primary_key
    marks = {column for column, _ in obj.relation.watermarks}
    columns = [
        dg.TableColumn(
            name=field.name,
            type=str(field.type),
            constraints=dg.TableColumnConstraints(
                nullable=field.nullable and field.name not in key,
                unique=key == (field.name,),
                other=["primary key"] if field.name in key else [],
            ),
            tags={"watermark": ""} if field.name in marks else {},
        )
        for field in obj.relation.visible
    ]
    together = [f"PRIMARY KEY ({', '.join(key)})"] if key else []
    return dg.TableSchema(columns, constraints=dg.TableConstraints(other=together))


def _lineage(obj: AnalysedObject, pipeline: Pipeline) -> dg.TableColumnLineage:
    assert obj.plan is not None
    origins = column_lineage(obj.plan.top)
    shown = [field.name for field in obj.relation.visible]
    return dg.TableColumnLineage(
        {
            name: [
                dg.TableColumnDep(asset_key(pipeline[key]), column)
                for key, column in sorted(origins.get(name, ()))
                if not is_hidden(column)
            ]
            for name in shown
        }
    )


def _code_references(span: Span) -> dg.CodeReferencesMetadataValue | None:
    if span.file is None:
        return None
    with warnings.catch_warnings(action="ignore", category=dg.BetaWarning):
        place = dg.LocalFileCodeReference(
            file_path=str(Path(span.file).resolve()), line_number=span.line
        )
        return dg.CodeReferencesMetadataValue(code_references=[place])


def leading_comment(span: Span) -> str | None:
    """Return the comment lines right above a statement, or None.

    >>> text = "-- Flights\\n-- by day\\nCREATE VIEW v AS SELECT 1"
    >>> leading_comment(Span.at(text, 21, len(text)))
    'Flights\\nby day'
    """
    above = (span.source or "")[: span.start].rstrip(" \t").split("\n")[:-1]
    lines: list[str] = []
    while above and (line := above.pop().strip()).startswith("--"):
        lines.insert(0, line.removeprefix("--").strip())
    return "\n".join(lines).strip() or None
