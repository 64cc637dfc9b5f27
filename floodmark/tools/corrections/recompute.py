"""A view's query in batch over all that its sources have stored, the rows that came late included.

Rows of a source reach the view through the views between them, which are computed once more, too;
what a table holds is taken as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from floodmark.cached import cached_property
from floodmark.catalog.objects import ObjectKind
from floodmark.dataflow import batch
from floodmark.dataflow.key_sets import KeySets
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import is_deterministic
from floodmark.spark.types import ident
from floodmark.spark.user_functions import register
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.scan import StreamScan
from floodmark.stream.operators.sort_buffer import StreamSortBuffer
from floodmark.stream.properties.bounds import Bounds
from floodmark.tables import layout
from floodmark.tables.bounds import FileFilter
from floodmark.tables.current import current_at_cut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.query.query import Reader

_AGAIN = tuple(form for form in (*batch.BATCH, n.SortBuffer) if form is not n.TemporalFilter)


@dataclass(frozen=True)
class Recomputation:
    """The rows of views with those that came late, at a cut; `now` is in microseconds."""

    reader: Reader
    now: int

    def rows(self, obj: AnalysedObject, within: Bounds) -> DataFrame:
        """Return a view's rows, at least those within bounds; files that have none are not read.

        Rows that an expression refuses are left out, as in an epoch.
        """
        assert obj.plan is not None
        return self._rows(obj.plan.top, within)

    def rows_to_scan(self, scan: n.Scan, keeps: FileFilter | None) -> DataFrame:
        """Return the rows at rest of what a scan reads, at least those of the files that matter."""
        obj = self.reader.pipeline[scan.object]
        rows = current_at_cut(self.reader.tables.store, obj, self.reader.cut)
        files = None if rows is None or keeps is None else tuple(filter(keeps, rows.base.files))
        frame = None if rows is None else rows.visible_rows(self.reader.tables, files, scan.names)
        if frame is None:
            return self.reader.empty(scan.columns)
        return frame.selectExpr(*(ident(name) for name in scan.names))

    def check(self, obj: AnalysedObject) -> None:
        """Raise E0304 where the rows of a view do not follow from what is stored below it."""
        assert obj.plan is not None
        for node in obj.plan.nodes:
            _check_node(node, obj)
        for below in self._views_of(obj):
            self.check(below)
        for key in obj.reads:
            if self.reader.pipeline[key].period:
                raise _refusal(obj, f"rows of {key} come and go as time passes")
            if self.reader.pipeline[key].relation.drops_silently:
                raise _refusal(obj, f"{key} forgets rows by its TTL")

    def sources(self, obj: AnalysedObject) -> frozenset[str]:
        """Return the objects with late rows that reach a view, by key."""
        mine = {key for key in obj.reads if key in self._late}
        return frozenset(mine.union(*(self.sources(view) for view in self._views_of(obj))))

    def _views_of(self, obj: AnalysedObject) -> list[AnalysedObject]:
        """Return the views that a view reads which are computed once more."""
        below = (self.reader.pipeline[key] for key in obj.reads)
        return [view for view in below if view.key in self._fed]

    @cached_property
    def _late(self) -> frozenset[str]:
        """The objects that have a table of late rows."""
        cut = self.reader.cut
        stored = self.reader.pipeline.writing_objects
        return frozenset(o.key for o in stored if cut.version(o.key, layout.late_table(o)))

    @cached_property
    def _fed(self) -> frozenset[str]:
        """The materialized views that late rows would have reached."""
        out: set[str] = set()
        for obj in self.reader.pipeline.objects.values():
            is_view = obj.kind is ObjectKind.MATERIALIZED_VIEW
            if is_view and any(key in out or key in self._late for key in obj.reads):
                out.add(obj.key)
        return frozenset(out)

    def _rows(self, op: StreamOperator[Any], within: Bounds) -> DataFrame:
        """Return an operator's rows within bounds."""
        spark = self.reader.tables.spark
        register(spark, (e for node in n.walk(op.node) for e in node.expressions))
        rows = batch.rows_in_bounds(op, within, self._leaf, spark, self.now)
        assert rows is not None
        return rows

    def _leaf(
        self, op: StreamOperator[Any], within: Bounds, keeps: FileFilter | None, keys: KeySets
    ) -> batch.Leaf | None:
        match op:
            case StreamScan():
                return batch.Leaf(self._scan_rows(op.node, within, keeps))
            case StreamSortBuffer():
                return batch.Leaf(self._rows(op.input, within))
            case _:
                return None

    def _scan_rows(self, scan: n.Scan, within: Bounds, keeps: FileFilter | None) -> DataFrame:
        obj = self.reader.pipeline[scan.object]
        names = [ident(name) for name in scan.names]
        if obj.key in self._fed:
            return self.rows(obj, within).selectExpr(*names)
        on_time = self.rows_to_scan(scan, keeps)
        table = layout.late_table(obj)
        version = self.reader.cut.version(obj.key, table)
        late = None
        if version is not None:
            tables = self.reader.tables
            late = tables.read(tables.open(table, version), layout.late_schema(obj))
        return on_time if late is None else on_time.unionAll(late.selectExpr(*names))


def _check_node(node: n.Node, obj: AnalysedObject) -> None:
    if n.is_lookup(node):
        raise _refusal(obj, "it looks up what another table has at the time of each row")
    again = all(is_deterministic(e) for e in node.expressions)
    if not again or not isinstance(node, _AGAIN):
        raise _refusal(obj, "its values depend on when they were computed")


def _refusal(obj: AnalysedObject, reason: str) -> NotSupported:
    return NotSupported(
        "E0304",
        f"the closed rows of {obj.name} cannot be recomputed: {reason}",
        hint="correct them in a view of your own, from the late rows",
    )
