"""A SELECT at one sealed epoch: the plan in batch over the versions that the cut pins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.catalog.objects import ObjectKind, Relation
from floodmark.catalog.references import table_name, tables_of
from floodmark.changelog import EPOCH, ERROR, KIND, WEIGHT, ChangelogMode, is_hidden
from floodmark.connectors.lookup.rows import keys_of, lookup_of
from floodmark.dataflow import batch
from floodmark.dataflow.operators import values
from floodmark.dataflow.state.fetched_rows import as_columns
from floodmark.errors import NotSupported, Span
from floodmark.plan import nodes as n
from floodmark.plan.build.builder import Builder
from floodmark.plan.build.outputs import ColumnTypes
from floodmark.plan.expr.expressions import ColumnRef
from floodmark.plan.nodes.size import check_size, guard_stack
from floodmark.plan.rules.lift_volatile import lift_volatile
from floodmark.query.staging import stage_rows
from floodmark.scalar.functions.intervals import micros_of
from floodmark.scalar.functions.model import RowErrorCode
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import BIGINT, VARCHAR, Field, Schema
from floodmark.spark import columns
from floodmark.spark.types import ident, nullable_ddl
from floodmark.spark.user_functions import register
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.pipeline import plain_views
from floodmark.stream.objects.planning import Use, plan_of
from floodmark.stream.objects.refusals import refuse_opaque
from floodmark.stream.objects.supported import PAIRED
from floodmark.stream.operators.over_window import unsupported_frame
from floodmark.stream.operators.pairing import unsupported_subquery
from floodmark.tables import layout
from floodmark.tables.correction_table import readable as corrections
from floodmark.tables.current import current_at_cut, unwritten
from floodmark.tables.cut import Cut
from floodmark.tables.tables import Tables
from floodmark.tables.window_finality import closes_in_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ReadFrame = Callable[[], "DataFrame"]


@dataclass(frozen=True)
class QueryRelation:
    """A relation that a SELECT can read: its columns and how to get its rows."""

    relation: Relation
    frame: ReadFrame


class Reader:
    """Everything that can be read at one cut, companions and system tables included."""

    def __init__(
        self,
        tables: Tables,
        pipeline: Pipeline,
        cut: Cut,
        now: datetime,
        system: Mapping[str, tuple[Schema, Callable[[], list[tuple[Any, ...]]]]],
    ) -> None:
        self.tables = tables
        self.pipeline = pipeline
        self.cut = cut
        self.now = micros_of(now)
        self._readable: dict[str, QueryRelation] = {}
        self._beside: str | None = None
        self._views = plain_views(pipeline.objects.values())
        for obj in pipeline.objects.values():
            self._add_object(obj)
        for name, (schema, rows) in system.items():
            self._add(name, schema, self._local(schema, rows))

    @property
    def relations(self) -> dict[str, Relation]:
        """Return the relations that queries can name."""
        return {name: r.relation for name, r in self._readable.items()}

    def plan(self, query: exp.Expression, source: Span | None) -> n.Node:
        """Return the logical plan of a query, its hidden columns dropped."""
        return without_hidden(self.plan_with_hidden(query, source))

    def plan_with_hidden(
        self, query: exp.Expression, source: Span | None, given: ColumnTypes | None = None
    ) -> n.Node:
        """Return the logical plan of a query; hidden columns may follow the visible ones.

        `given` are the types, and the defaults, of the columns that take its rows.
        """
        for name in map(table_name, tables_of(query)):
            if name in self.pipeline.objects and self.pipeline[name].kind is ObjectKind.VIEW:
                refuse_opaque(self.pipeline[name], self.pipeline.objects)
        with guard_stack(source):
            return rewrite_to_run(self.builder(source, given).query(query))

    def builder(self, source: Span | None, given: ColumnTypes | None = None) -> Builder:
        """Return the builder of a statement's plan; `source` is any span of it."""
        functions = self.pipeline.functions
        return Builder(self.relations, source, views=self._views, functions=functions, given=given)

    def frame_of(self, name: str) -> ReadFrame:
        """Return a function that reads the rows of a relation."""
        return self._readable[name].frame

    def with_rows(self, relation: Relation, frame: ReadFrame) -> Reader:
        """Return a reader with other rows of a relation, or with one more relation."""
        other = copy(self)
        other._readable = {**self._readable, relation.name: QueryRelation(relation, frame)}
        return other

    def bringing(self, folder: str) -> Reader:
        """Return a reader that writes long lists of constants to a folder of an engine's.

        It has to outlive the frames. Without one they go to Spark with the query.
        """
        other = copy(self)
        other._beside = folder
        return other

    def frame(self, node: n.Node) -> DataFrame:
        """Return the rows of a plan; an expression error ends the query."""
        return self._frame(lift_volatile(node))

    def _frame(self, node: n.Node) -> DataFrame:
        spark = self.tables.spark
        register(spark, (e for part in n.walk(node) for e in part.expressions))
        rows = batch.rows_of(node, self._leaf, spark, self.now, strict=True)
        assert rows is not None
        return rows

    def _leaf(self, node: n.Node) -> batch.Leaf | None:
        """Return the rows of a relation, of what is kept elsewhere, and long lists of constants."""
        if isinstance(node, n.Scan):
            columns = (ident(name) for name in node.names)
            return batch.Leaf(self._readable[node.object].frame().selectExpr(*columns))
        spark = self.tables.spark
        if n.is_lookup(node) and node.external is not None:
            left = self._frame(node.left)
            fetched = self._lookup_rows(node, node.external, left)
            right = batch.rows_from_scan(node.right, fetched, spark, self.now)
            rows = batch.batch(node, [left, right], spark, self.now, strict=True)
            return batch.Leaf(rows)
        if isinstance(node, n.Values) and self._beside is not None and node.is_data:
            limits, folder = self.tables.limits, f"{self._beside}/{id(node)}"
            pieces = values.constant_pieces(node, limits.constants_piece)
            return batch.Leaf(stage_rows(pieces, node.schema, spark, folder, limits))
        return None

    def _lookup_rows(self, node: n.Pairing, scan: n.Scan, left: DataFrame) -> DataFrame:
        """Return the present rows of an object that is kept elsewhere, for left rows' keys."""
        assert node.lookup_columns is not None
        keys = keys_of(left, [a for a, _ in node.equi])
        found = lookup_of(self.pipeline[scan.object], self.tables.limits).fetch(
            node.lookup_columns, keys
        )
        rows = [as_columns(row, scan.columns) for row in found]
        return self._local(scan.columns, lambda: rows)()

    def _add(self, name: str, columns: Schema, frame: ReadFrame) -> None:
        key = tuple(f.name for f in columns)
        relation = Relation(name, ObjectKind.VIEW, columns, key, ChangelogMode.RETRACT)
        self._readable[name] = QueryRelation(relation, frame)

    def _add_object(self, obj: AnalysedObject) -> None:
        if obj.external_sink is not None:
            name = f"{layout.companion_base(obj)}__dead_letter"
            self._add(name, _DEAD_LETTER, self._dead_letters(obj))
        if obj.kind is ObjectKind.SINK:
            return
        if obj.kind is ObjectKind.VIEW:
            return
        self._readable[obj.key] = QueryRelation(obj.relation, self._current(obj))
        shown = obj.relation.visible
        epoch = Field(layout.companion_column(obj, "epoch"), BIGINT)
        late = (*shown, epoch, Field(layout.companion_column(obj, "watermark"), VARCHAR))
        self._add(f"{obj.key}__late", late, self._late(obj))
        self._add(f"{obj.key}__dead_letter", _DEAD_LETTER, self._dead_letters(obj))
        changes = (epoch, Field(layout.companion_column(obj, "kind"), VARCHAR), *shown)
        self._add(f"{obj.key}__changes", changes, self._changes(obj))
        if closes_in_time(obj):
            rows = corrections(self.tables, obj, self.cut.epoch, self.empty)
            self._add(f"{obj.key}__corrections", *rows)

    def _current(self, obj: AnalysedObject) -> ReadFrame:
        def frame() -> DataFrame:
            current = current_at_cut(self.tables.store, obj, self.cut)
            if current is not None and current.needs_definition:
                refuse_opaque(obj, self.pipeline.objects)
            rows = None if current is None else current.visible_rows(self.tables)
            return self.empty(layout.current_schema(obj)) if rows is None else rows

        return frame

    def _stored_frame(self, obj: AnalysedObject, table: str, schema: Schema) -> ReadFrame:
        def frame() -> DataFrame:
            version = self.cut.version(obj.key, table)
            rows = None
            if version is not None:
                rows = self.tables.read(self.tables.open(table, version), schema)
            return self.empty(schema) if rows is None else rows

        return frame

    def empty(self, schema: Schema) -> DataFrame:
        """Return no rows of some columns."""
        return self.tables.spark.createDataFrame([], schema=nullable_ddl(schema))

    def _late(self, obj: AnalysedObject) -> ReadFrame:
        rows = self._stored_frame(obj, layout.late_table(obj), layout.late_schema(obj))
        names = [ident(f.name) for f in obj.relation.visible]
        epoch, watermark = (
            layout.companion_column(obj, "epoch"),
            layout.companion_column(obj, "watermark"),
        )
        return lambda: rows().selectExpr(
            *names, f"{EPOCH} AS {epoch}", f"{columns.WATERMARK} AS {watermark}"
        )

    def _dead_letters(self, obj: AnalysedObject) -> ReadFrame:
        rows = self._stored_frame(obj, layout.dead_letter_table(obj), layout.DEAD_LETTER)
        parts = ("expression", "row", "place")
        code = f"concat('E', lpad(CAST({ERROR}.code AS STRING), 4, '0')) AS reason"
        note = " ".join(f"WHEN {c.value} THEN {quote(c.says)}" for c in RowErrorCode)
        said = f"concat(CASE {ERROR}.code {note} END, ': ', {ERROR}.expression)"
        message = f"coalesce({ERROR}.message, {said}) AS message"
        return lambda: (
            rows()
            .selectExpr(EPOCH, WEIGHT, code, *(f"{ERROR}.{p} AS {p}" for p in parts), message)
            .groupBy("reason", *parts)
            .agg({EPOCH: "min", WEIGHT: "sum", "message": "max"})
            .where(f"`sum({WEIGHT})` > 0")
            .selectExpr("reason", *parts, f"`min({EPOCH})` AS epoch", "`max(message)` AS message")
        )

    def _changes(self, obj: AnalysedObject) -> ReadFrame:
        names = [ident(f.name) for f in obj.relation.visible]
        epoch, kind = layout.companion_column(obj, "epoch"), layout.companion_column(obj, "kind")

        def refuse() -> DataFrame:
            raise unwritten(obj)

        if obj.period:
            return refuse
        if obj.append_only:
            rows = self._current(obj)
            return lambda: rows().selectExpr(f"{EPOCH} AS {epoch}", f"'+I' AS {kind}", *names)
        rows = self._stored_frame(obj, layout.changes_table(obj), layout.changes_schema(obj))
        return lambda: rows().selectExpr(f"{EPOCH} AS {epoch}", f"{KIND} AS {kind}", *names)

    def _local(self, schema: Schema, rows: Callable[[], list[tuple[Any, ...]]]) -> ReadFrame:
        def frame() -> DataFrame:
            found = rows()
            if not found:
                return self.empty(schema)
            return self.tables.spark.createDataFrame(found, schema=nullable_ddl(schema))

        return frame


_DEAD_LETTER: Schema = (
    Field("reason", VARCHAR), Field("expression", VARCHAR), Field("row", VARCHAR),
    Field("place", VARCHAR), Field("epoch", BIGINT), Field("message", VARCHAR),
)  # fmt: skip


def rewrite_to_run(node: n.Node) -> n.Node:
    """Return a query's plan as it is rewritten to run; E0133 and E0355 where it cannot run."""
    check_size(node, node.span)
    node = plan_of(node, Use.SELECT).node
    check_batch(node)
    return node


def check_batch(node: n.Node) -> None:
    """Raise E0355 for the first operator that a SELECT cannot use yet."""
    for part in n.walk(node):
        what = None if isinstance(part, batch.BATCH) else type(part).__name__
        if isinstance(part, n.OverWindow):
            what = unsupported_frame(part)
        if isinstance(part, n.Pairing):
            what = unsupported_subquery(part)
        if what is not None:
            raise NotSupported(
                "E0355",
                f"{what} is not available in a query yet",
                span=part.span,
                hint=PAIRED if isinstance(part, n.Pairing) else "docs/sql.md lists what runs",
            )


def without_hidden(node: n.Node) -> n.Node:
    """Return the plan with its visible columns only; an order on top stays on top."""
    if not any(is_hidden(f.name) for f in node.schema):
        return node
    shown = [f for f in node.schema if not is_hidden(f.name)]
    return n.Project(node, tuple((f.name, ColumnRef(f.type, f.name)) for f in shown))
