"""A query of Spark, computed here where that is possible and it is small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from floodmark.limits import LIMITS
from floodmark.spark.in_process import parquet
from floodmark.spark.in_process.aggregates import aggregate, distinct
from floodmark.spark.in_process.evaluation import evaluate, know, path_of, truth_by_row
from floodmark.spark.in_process.frame import LargeQuery, LazyColumn, LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.functions import FAMILIES
from floodmark.spark.in_process.joins import join
from floodmark.spark.in_process.projection import compute_column, name_of, select_columns
from floodmark.spark.in_process.sorting import SortColumn, sort_places
from floodmark.spark.in_process.texts import ParsedText, parse
from floodmark.spark.in_process.types import cast, common_type, schema_of

if TYPE_CHECKING:
    import pyarrow as pa

know(FAMILIES)


class Query:
    """The rows of relations, each computed once however often a plan has it."""

    def __init__(self) -> None:
        self._done: dict[int, LazyFrame] = {}
        self._metrics: dict[str, LazyFrame] = {}

    def rows(self, relation: Any) -> LazyFrame:
        """Return the rows of a relation of a plan; `UnsupportedQuery` where they are Spark's."""
        number = relation.common.plan_id
        done = self._done.get(number)
        if done is not None:
            return done
        kind = relation.WhichOneof("rel_type")
        how = RELATIONS.get(kind)
        if how is None:
            raise UnsupportedQuery(f"the relation {kind}")
        frame = how(self, getattr(relation, kind))
        if frame.rows > LIMITS.in_process_rows:
            raise LargeQuery(f"{frame.rows} rows")
        if number:
            self._done[number] = frame
        return frame

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Return what was to be observed of the rows on the way, by the names of those who do."""
        return {
            name: {c.name: c.values[0].as_py() for c in frame.columns}
            for name, frame in self._metrics.items()
        }

    def scan(self, relation: Any) -> LazyFrame:
        source = relation.data_source
        if not relation.HasField("data_source") or source.format != "parquet" or source.predicates:
            raise UnsupportedQuery("what is read is no file of Parquet")
        if not source.paths:
            raise UnsupportedQuery("no files")
        return parquet.scan(source.paths, source.schema, source.options)

    def local_relation(self, relation: Any) -> LazyFrame:
        """Return rows that came with the plan, as Arrow sends them."""
        import pyarrow as pa

        if not relation.HasField("data") or not relation.HasField("schema"):
            raise UnsupportedQuery("no rows, or without a schema")
        rows = pa.ipc.open_stream(relation.data).read_all()
        types = dict(schema_of(relation.schema))
        if list(types) != rows.column_names or list(types.values()) != rows.schema.types:
            raise UnsupportedQuery("rows of other types than their schema")
        columns = [LazyColumn(c, rows.column(c).combine_chunks) for c in rows.column_names]
        return LazyFrame(rows.num_rows, columns)

    def project(self, relation: Any) -> LazyFrame:
        return select_columns(
            self.rows(relation.input), [_parse_expression(e) for e in relation.expressions]
        )

    def filter(self, relation: Any) -> LazyFrame:
        from pyarrow import compute as pc

        rows = self.rows(relation.input)
        kept = truth_by_row(_parse_expression(relation.condition).node, rows)
        return rows.take(pc.indices_nonzero(kept))

    def add_columns(self, relation: Any) -> LazyFrame:
        rows = self.rows(relation.input)
        texts = {_name_of(alias): _parse_expression(alias.expr) for alias in relation.aliases}
        _refuse_other_letters(texts, rows)
        if len({name.lower() for name in texts}) != len(relation.aliases):
            raise UnsupportedQuery("several new columns of one name")
        if any([c.name for c in rows.visible].count(name) > 1 for name in texts):
            raise UnsupportedQuery("a new column in place of several")
        added = {name: compute_column(name, text, rows) for name, text in texts.items()}
        kept = [c if c.hidden else added.pop(c.name, c) for c in rows.columns]
        return LazyFrame(rows.rows, [*kept, *added.values()])

    def aggregate(self, relation: Any) -> LazyFrame:
        if relation.group_type != relation.GROUP_TYPE_GROUPBY:
            raise UnsupportedQuery("groups of several kinds")
        parsed = [_parse_expression(e) for e in relation.grouping_expressions]
        keys = [(name_of(each), each.node) for each in parsed]
        calls = [_text(e) for e in relation.aggregate_expressions]
        return aggregate(self.rows(relation.input), keys, calls)

    def join(self, relation: Any) -> LazyFrame:
        if relation.using_columns:
            raise UnsupportedQuery("a join by names")
        left, right = self.rows(relation.left), self.rows(relation.right)
        has = relation.HasField("join_condition")
        condition = _parse_expression(relation.join_condition).node if has else None
        kind = relation.JoinType.Name(relation.join_type)
        return join(left, right, condition, kind, LIMITS.in_process_rows)

    def set_op(self, relation: Any) -> LazyFrame:
        if relation.set_op_type != relation.SET_OP_TYPE_UNION:
            raise UnsupportedQuery("a set operation")
        left, right = self.rows(relation.left_input), self.rows(relation.right_input)
        ours, theirs = left.visible, right.visible
        if relation.by_name:
            fills = relation.allow_missing_columns
            ours = _align_names(left, right, fills=fills)
            theirs = _align_names(right, left, fills=fills)
            order = {c.name: i for i, c in enumerate(ours)}
            theirs = sorted(theirs, key=lambda c: order[c.name])
        if len(ours) != len(theirs):
            raise UnsupportedQuery("a union of unequal columns")
        columns = [
            LazyColumn(one.name, _union, one, other)
            for one, other in zip(ours, theirs, strict=True)
        ]
        united = LazyFrame(left.rows + right.rows, columns)
        return united if relation.is_all else distinct(united)

    def deduplicate(self, relation: Any) -> LazyFrame:
        if not relation.all_columns_as_keys:
            raise UnsupportedQuery("the first rows of keys")
        return distinct(self.rows(relation.input))

    def subquery_alias(self, relation: Any) -> LazyFrame:
        rows = self.rows(relation.input)
        return LazyFrame(rows.rows, [c.rename(c.name, relation.alias) for c in rows.visible])

    def drop(self, relation: Any) -> LazyFrame:
        if relation.columns:
            raise UnsupportedQuery("columns that are dropped by an expression")
        rows = self.rows(relation.input)
        _refuse_other_letters(relation.column_names, rows)
        return LazyFrame(
            rows.rows, [c for c in rows.columns if c.name not in relation.column_names]
        )

    def rename_columns(self, relation: Any) -> LazyFrame:
        rows = self.rows(relation.input)
        names = {r.col_name: r.new_col_name for r in relation.renames}
        names.update(relation.rename_columns_map)
        _refuse_other_letters(names, rows)
        return LazyFrame(
            rows.rows, [c.rename(names.get(c.name, c.name), None) for c in rows.visible]
        )

    def range(self, relation: Any) -> LazyFrame:
        import numpy as np
        import pyarrow as pa

        if range(relation.start, relation.end, relation.step)[LIMITS.in_process_rows :]:
            raise LargeQuery("a long range")
        numbers = np.arange(relation.start, relation.end, relation.step, dtype=np.int64)
        return LazyFrame(len(numbers), [LazyColumn("id", lambda: pa.array(numbers))])

    def collect_metrics(self, relation: Any) -> LazyFrame:
        rows = self.rows(relation.input)
        self._metrics[relation.name] = aggregate(rows, (), [_text(e) for e in relation.metrics])
        return rows

    def sort(self, relation: Any) -> LazyFrame:
        import pyarrow as pa

        rows = self.rows(relation.input)
        keys = [
            SortColumn(
                _sort_values(_parse_expression(each.child).node, rows),
                descending=each.direction == each.SORT_DIRECTION_DESCENDING,
                nulls_first=each.null_ordering == each.SORT_NULLS_FIRST,
            )
            for each in relation.order
        ]
        return rows.take(pa.array(sort_places(keys)))

    def limit(self, relation: Any) -> LazyFrame:
        import pyarrow as pa

        rows = self.rows(relation.input)
        return rows.take(pa.array(range(min(rows.rows, relation.limit)), pa.int64()))

    def keep_rows(self, relation: Any) -> LazyFrame:
        """Return the rows of the input: how they lie is of no matter here."""
        return self.rows(relation.input)


RELATIONS: Mapping[str, Callable[[Query, Any], LazyFrame]] = {
    "read": Query.scan,
    "local_relation": Query.local_relation,
    "project": Query.project,
    "filter": Query.filter,
    "with_columns": Query.add_columns,
    "aggregate": Query.aggregate,
    "join": Query.join,
    "set_op": Query.set_op,
    "deduplicate": Query.deduplicate,
    "subquery_alias": Query.subquery_alias,
    "drop": Query.drop,
    "with_columns_renamed": Query.rename_columns,
    "range": Query.range,
    "collect_metrics": Query.collect_metrics,
    "sort": Query.sort,
    "limit": Query.limit,
    "hint": Query.keep_rows,
    "repartition": Query.keep_rows,
    "repartition_by_expression": Query.keep_rows,
}
"""How the rows of each kind of relation are computed."""


def _parse_expression(expression: Any) -> ParsedText:
    """Return an expression of a plan as a tree, with the name that it is given."""
    kind = expression.WhichOneof("expr_type")
    match kind:
        case "expression_string":
            return parse(expression.expression_string.expression)
        case "unresolved_attribute":
            attribute = expression.unresolved_attribute
            if attribute.HasField("plan_id"):
                raise UnsupportedQuery("a column of one relation")
            return _parse_column(attribute.unparsed_identifier)
        case "unresolved_star":
            star = expression.unresolved_star
            if star.HasField("plan_id"):
                raise UnsupportedQuery("all columns of one relation")
            return parse(star.unparsed_target or "*")
        case "alias":
            alias = expression.alias
            return _parse_expression(alias.expr)._replace(name=_name_of(alias))
        case "literal" if expression.literal.WhichOneof("literal_type") == "boolean":
            return ParsedText(None, exp.Boolean(this=expression.literal.boolean))
        case _:
            raise UnsupportedQuery(f"the expression {kind}")


def _parse_column(text: str) -> ParsedText:
    """Return the column that a text names: it is no expression, even where it looks like one."""
    node = parse(text).node
    if not isinstance(node, exp.Column) or ".".join(path_of(node)) != text.replace("`", ""):
        raise UnsupportedQuery(f"a column that is named {text}")
    return ParsedText(None, node)


def _name_of(alias: Any) -> str:
    """Return the one name that an expression is given."""
    (name,) = alias.name
    return str(name)


def _text(expression: Any) -> tuple[str, str]:
    """Return the name and the text of an aggregate."""
    if expression.WhichOneof("expr_type") != "alias":
        raise UnsupportedQuery("an aggregate without a name")
    inner = expression.alias.expr
    if inner.WhichOneof("expr_type") != "expression_string":
        raise UnsupportedQuery("an aggregate that is no text")
    return _name_of(expression.alias), inner.expression_string.expression


def _sort_values(node: exp.Expression, rows: LazyFrame) -> pa.Array:
    """Return what rows are sorted by; to Spark a constant may be the number of a column."""
    import pyarrow as pa

    values = evaluate(node, rows)
    if isinstance(values, pa.Scalar):
        raise UnsupportedQuery("an order by a constant")
    return values


def _refuse_other_letters(names: Iterable[str], rows: LazyFrame) -> None:
    """Leave names to Spark that are those of columns but for small and capital letters."""
    known = {c.name for c in rows.visible}
    for name in names:
        if any(other.lower() == name.lower() for other in known - {name}):
            raise UnsupportedQuery(f"{name} in other letters")


def _align_names(rows: LazyFrame, others: LazyFrame, *, fills: bool) -> list[LazyColumn]:
    """Return the columns of rows, and NULLs for those that only the others have."""
    import pyarrow as pa

    names = [c.name for c in rows.visible]
    if len({name.lower() for name in names}) != len(names):
        raise UnsupportedQuery("several columns of one name")
    missing = [c.name for c in others.visible if c.name not in names]
    _refuse_other_letters(missing, rows)
    if missing and not fills:
        raise UnsupportedQuery("a union of other columns")
    return [*rows.visible, *(LazyColumn(name, lambda: pa.nulls(rows.rows)) for name in missing)]


def _union(above: LazyColumn, below: LazyColumn) -> pa.Array:
    import pyarrow as pa

    parts = [above.values, below.values]
    target = common_type([part.type for part in parts])
    return pa.concat_arrays([cast(part, target) for part in parts])
