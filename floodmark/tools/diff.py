"""`floodmark diff`: the rows of two things that can be read, compared by key or as bags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from floodmark.dataflow.materialize import comparable
from floodmark.errors import BindError
from floodmark.scalar.functions.comparison import spark_order
from floodmark.scalar.functions.model import Operand
from floodmark.scalar.types import Field, Kind, Schema, SqlType
from floodmark.spark.round_trips import fetch
from floodmark.spark.types import ident, spark_type
from floodmark.tables.results import python_rows
from floodmark.tools.diff_sides import Side, side_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from floodmark.api import Floodmark

EXAMPLES = 5
_NUMBERS = frozenset(
    {Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC, Kind.REAL, Kind.DOUBLE}
)  # fmt: skip
ONLY_A, ONLY_B, CHANGED = "only in A", "only in B", "changed"


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """A column that only one side has (its other type is None), or that has two types."""

    name: str
    a: SqlType | None
    b: SqlType | None

    @property
    def is_compared(self) -> bool:
        """Tell whether the values are compared all the same."""
        return self.a is not None and self.b is not None and _comparable(self.a, self.b)


@dataclass(frozen=True, slots=True)
class Example:
    """A row that differs: what A has of it and what B has, each None where it has none."""

    kind: str
    a: tuple[Any, ...] | None
    b: tuple[Any, ...] | None


@dataclass(frozen=True)
class Diff:
    """How two things differ, columns first.

    `columns` are compared; the columns of `key` tell rows apart. Without a key, rows are equal if
    all of their values are, and none counts as changed. The numbers count rows; `changed_columns`
    says in how many of the changed rows a column differs.
    """

    a: Side
    b: Side
    schema: tuple[ColumnDifference, ...]
    columns: Schema
    key: tuple[str, ...]
    rows_a: int = 0
    rows_b: int = 0
    only_a: int = 0
    only_b: int = 0
    changed: int = 0
    changed_columns: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def same_rows(self) -> bool:
        """Tell whether no row differs in the columns that are compared."""
        return not (self.only_a or self.only_b or self.changed)

    @property
    def same(self) -> bool:
        """Tell whether columns and rows are the same."""
        return self.same_rows and not self.schema


def diff(
    connection: Floodmark,
    a: str,
    b: str,
    *,
    at_epoch: int | None = None,
    key: Sequence[str] | None = None,
    limit: int = EXAMPLES,
) -> Diff:
    """Compare two relations, `x`, `x@epoch` or the path of a Delta table, in one or two Spark jobs.

    `key` are the columns that tell rows apart; by default the key that both have, else none. Values
    are compared as by IS NOT DISTINCT FROM, numbers of two types as the wider one. Of each kind of
    difference `limit` rows are shown, the first by their key.

    Raises `BindError` E0770 for what cannot be read, E0771 where no column is in both, E0772 for a
    key that is not in both or not unique.
    """
    left, right = (side_of(connection, text, at_epoch) for text in (a, b))
    columns, schema = _columns(left.columns, right.columns)
    if not columns:
        raise BindError(
            "E0771",
            f"{left.name} and {right.name} have no column in common that can be compared",
            hint="compare views that give the columns the same names and types",
        )
    names = [c.name for c in columns]
    by = _key(left, right, names) if key is None else _check_key(key, names)
    with connection.sessions().guard():
        comparison = _Comparison(left, right, columns, by)
        totals = comparison.totals()
        notices: tuple[str, ...] = ()
        if by and totals["twice"]:
            notices = (_as_bags(by, asked_for=key is not None),)
            by = ()
            comparison = _Comparison(left, right, columns, by)
            totals = comparison.totals()
        counts = {name: int(totals[f"c{i}"]) for i, name in enumerate(names) if name not in by}
        out = Diff(
            left, right, schema, columns, by,
            int(totals["rows_a"]), int(totals["rows_b"]),
            int(totals["only_a"]), int(totals["only_b"]), int(totals["changed"]),
            {name: count for name, count in counts.items() if by and count}, (), notices,
        )  # fmt: skip
        if out.same_rows or not limit:
            return out
        return replace(out, examples=comparison.examples(limit))


def _columns(a: Schema, b: Schema) -> tuple[Schema, tuple[ColumnDifference, ...]]:
    """Return the columns that can be compared, in A's order, and what differs of the columns."""
    left, right = ({f.name: f.type for f in schema} for schema in (a, b))
    names = list(dict.fromkeys([*left, *right]))
    differ = tuple(
        ColumnDifference(name, left.get(name), right.get(name))
        for name in names
        if left.get(name) != right.get(name)
    )
    left_out = {d.name for d in differ if not d.is_compared}
    return tuple(Field(f.name, f.type) for f in a if f.name not in left_out), differ


def _comparable(a: SqlType, b: SqlType) -> bool:
    return (a.kind in _NUMBERS and b.kind in _NUMBERS) or spark_type(a) == spark_type(b)


def _key(a: Side, b: Side, names: Sequence[str]) -> tuple[str, ...]:
    """Return the key that both sides have; a Delta table from elsewhere has that of the other."""
    if a.key is None or b.key is None:
        known = a.key or b.key or ()
        return known if set(known) <= set(names) else ()
    return a.key if set(a.key) == set(b.key) and set(a.key) <= set(names) else ()


def _check_key(key: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    for name in key:
        if name not in names:
            raise BindError(
                "E0772",
                f'the key column "{name}" is not in both',
                hint=f"both have {', '.join(names)}",
            )
    return tuple(dict.fromkeys(key))


def _as_bags(key: Sequence[str], *, asked_for: bool) -> str:
    """Return the notice that a key tells no rows apart; E0772 for one that was asked for."""
    text = f"several rows have one key ({', '.join(key)})"
    if asked_for:
        raise BindError(
            "E0772",
            text,
            hint="name more columns; without --key, rows are compared by a common key, or as "
            "multisets",
        )
    return f"{text}: rows are compared as bags"


class _Comparison:
    """The rows of both sides by key, as one Spark plan."""

    def __init__(self, a: Side, b: Side, columns: Schema, key: tuple[str, ...]) -> None:
        self.columns = columns
        self.key = key or tuple(c.name for c in columns)
        self.places = [i for i, c in enumerate(columns) if c.name in self.key]
        self.by_key = bool(key)
        self.types = [_wider(c.type, _type_of(b.columns, c.name)) for c in columns]
        self._frames = [self._side_rows(side, number) for number, side in enumerate((a, b))]

    def _side_rows(self, side: Side, number: int) -> DataFrame:
        shown = [f"{ident(c.name)} AS v{i}" for i, c in enumerate(self.columns)]
        return side.frame().selectExpr(f"{number} AS side", *shown)

    def _group(self) -> DataFrame:
        """Return a row per key: how often each side has it, and a row of each."""
        from pyspark.sql import functions as F

        rows = self._frames[0].unionAll(self._frames[1])
        values = ", ".join(f"v{i}" for i in range(len(self.columns)))
        keys = [F.expr(_form(f"v{i}", self.types[i])).alias(f"k{i}") for i in self.places]
        return rows.groupBy(*keys).agg(
            F.expr("sum(1 - side)").alias("in_a"),
            F.expr("sum(side)").alias("in_b"),
            F.expr(f"any_value(IF(side = 0, struct({values}), NULL), true)").alias("a"),
            F.expr(f"any_value(IF(side = 1, struct({values}), NULL), true)").alias("b"),
        )

    def _differs(self, i: int) -> str:
        """Return whether both sides have the key, with another value in a column."""
        a, b = (_form(f"{side}.v{i}", self.types[i]) for side in ("a", "b"))
        return f"(in_a > 0 AND in_b > 0 AND NOT ({a} <=> {b}))"

    @property
    def _values(self) -> list[int]:
        """Return the places of the columns that may have changed."""
        return [i for i, c in enumerate(self.columns) if c.name not in self.key]

    def _change_condition(self) -> str:
        return " OR ".join(map(self._differs, self._values)) or "false"

    def totals(self) -> dict[str, Any]:
        """Return the numbers, in one job."""
        from pyspark.sql import functions as F

        sums = {
            "rows_a": "in_a",
            "rows_b": "in_b",
            "only_a": "greatest(in_a - in_b, 0)",
            "only_b": "greatest(in_b - in_a, 0)",
            "changed": f"CAST({self._change_condition()} AS INT)",
            "twice": "CAST(in_a > 1 OR in_b > 1 AS INT)",
        }
        sums |= {f"c{i}": f"CAST({self._differs(i)} AS INT)" for i in self._values}
        parts = [F.expr(f"coalesce(sum({sql}), 0)").alias(name) for name, sql in sums.items()]
        row: dict[str, Any] = fetch(self._group().agg(*parts)).to_pylist()[0]
        return {**{f"c{i}": 0 for i in range(len(self.columns))}, **row}

    def examples(self, limit: int) -> tuple[Example, ...]:
        """Return the first rows of each kind by key, in one job."""
        kind = (
            f"CASE WHEN in_a > in_b THEN '{ONLY_A}' WHEN in_b > in_a THEN '{ONLY_B}' "
            f"WHEN {self._change_condition()} THEN '{CHANGED}' END"
        )
        keys = ", ".join(f"k{i}" for i in self.places)
        place = f"row_number() OVER (PARTITION BY kind ORDER BY {keys}) AS place"
        differing = (
            self._group()
            .selectExpr("*", f"{kind} AS kind")
            .where("kind IS NOT NULL")
            .selectExpr("*", place)
            .where(f"place <= {limit}")
            .orderBy("kind", "place")
        )
        width = len(self.columns)
        flat = [f"{side}.v{i} AS {side}{i}" for side in ("a", "b") for i in range(width)]
        has = ["in_a > in_b OR in_b = in_a AS has_a", "in_b > in_a OR in_b = in_a AS has_b"]
        data = fetch(differing.selectExpr("kind", *has, *flat))
        kinds = [data.column(i).to_pylist() for i in range(3)]
        schema = tuple(Field(f"v{i}", type_) for i, type_ in enumerate(self.types * 2))
        rows = python_rows(data.select(list(range(3, 3 + 2 * width))), schema)
        return tuple(
            Example(kind, row[:width] if in_a else None, row[width:] if in_b else None)
            for kind, in_a, in_b, row in zip(*kinds, rows, strict=True)
        )


def _type_of(schema: Schema, name: str) -> SqlType:
    return next(islice((f.type for f in schema if f.name == name), 1))


def _wider(a: SqlType, b: SqlType) -> SqlType:
    """Return the type as which values of two types are shown; Spark widens them alike."""
    order = list(Kind)
    return a if a.kind not in _NUMBERS or order.index(a.kind) >= order.index(b.kind) else b


def _form(sql: str, type_: SqlType) -> str:
    """Return what of a value is compared: an interval's length, the text of a map."""
    if type_.kind is Kind.INTERVAL:
        return spark_order(Operand(sql, type_))
    return comparable(sql, type_)
