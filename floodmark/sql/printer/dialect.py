"""How expressions are printed: one spelling for each meaning, so that equal text means equal SQL.

The sqlglot dialect here only prints. Reading is done by this package's own parser, because
sqlglot's drops commas, invents clauses and turns unknown statements to opaque text.
"""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp, generator
from sqlglot.dialects.risingwave import RisingWave

from floodmark.sql.nodes import ChangelogOf, WindowTable
from floodmark.sql.words import RESERVED

_PLAIN_NAME = re.compile(r"[^\W\d][\w$]*")
_TYPE_NAMES = {
    "BOOLEAN": "boolean", "SMALLINT": "smallint", "INT": "int", "BIGINT": "bigint",
    "DECIMAL": "numeric", "FLOAT": "real", "DOUBLE": "double precision", "VARCHAR": "varchar",
    "TEXT": "text", "CHAR": "char", "VARBINARY": "bytea", "DATE": "date", "TIME": "time",
    "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamptz", "INTERVAL": "interval",
    "JSONB": "jsonb", "JSON": "json", "UUID": "uuid",
}  # fmt: skip
_OPERATORS = {
    exp.JSONExtract: "->", exp.JSONExtractScalar: "->>", exp.JSONBExtract: "#>",
    exp.JSONBExtractScalar: "#>>", exp.JSONBDeleteAtPath: "#-", exp.ArrayContainsAll: "@>",
    exp.ArrayContainedBy: "<@", exp.JSONBContains: "?", exp.JSONBContainsAnyTopKeys: "?|",
    exp.JSONBContainsAllTopKeys: "?&", exp.ArrayOverlaps: "&&", exp.RegexpLike: "~",
    exp.RegexpILike: "~*", exp.Pow: "^", exp.BitwiseXor: "#", exp.Div: "/", exp.Mod: "%",
    exp.Like: "LIKE", exp.ILike: "ILIKE", exp.SimilarTo: "SIMILAR TO", exp.Collate: "COLLATE",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM", exp.DPipe: "||",
    exp.BitwiseLeftShift: "<<", exp.BitwiseRightShift: ">>", exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|", exp.Sub: "-", exp.Add: "+", exp.Mul: "*", exp.EQ: "=", exp.NEQ: "<>",
    exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.Escape: "ESCAPE",
}  # fmt: skip
_NEGATED = {
    exp.Like: "NOT LIKE", exp.ILike: "NOT ILIKE", exp.SimilarTo: "NOT SIMILAR TO",
    exp.RegexpLike: "!~", exp.RegexpILike: "!~*",
}  # fmt: skip
_LISTS = (exp.Values, exp.GroupingSets, exp.Group, exp.Distinct)
_CALLABLE_RESERVED = ("left", "right")
_BARE_CALLS = frozenset(
    ("current_timestamp", "current_date", "current_time", "localtimestamp", "localtime")
)


def quote_name(name: str) -> str:
    """Return a name as SQL writes it, in double quotes when it needs them.

    >>> quote_name("a"), quote_name("Group By")
    ('a', '"Group By"')
    """
    if _PLAIN_NAME.fullmatch(name) and name == name.lower() and name not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def quote_string(text: str) -> str:
    """Return a string literal."""
    return "'" + text.replace("'", "''") + "'"


def _operator(text: str) -> Any:
    def print_(self: generator.Generator, node: exp.Expression) -> str:
        return str(self.binary(node, text))

    return print_


class Floodmark(RisingWave):  # type: ignore[misc]
    """The printing side of the language."""

    INDEX_OFFSET = 0

    class Generator(RisingWave.Generator):  # type: ignore[misc]
        """Prints the shapes that `floodmark.sql` lists."""

        TRANSFORMS = (
            {
                kind: print_
                for kind, print_ in RisingWave.Generator.TRANSFORMS.items()
                if kind not in (exp.Select, exp.Array, exp.DataType, exp.Anonymous)
            }
            | {kind: _operator(text) for kind, text in _OPERATORS.items()}
            | {
                WindowTable: lambda self, node: self.windowtable_sql(node),
                ChangelogOf: lambda self, node: self.changelogof_sql(node),
            }
        )  # fmt: skip

        def identifier_sql(self, expression: exp.Identifier) -> str:
            return quote_name(expression.name)

        def literal_sql(self, expression: exp.Literal) -> str:
            if not expression.is_string:
                return str(expression.name)
            text = quote_string(expression.name)
            return text.replace("\n", self.SENTINEL_LINE_BREAK) if self.pretty else text

        def anonymous_sql(self, expression: exp.Anonymous) -> str:
            name = str(expression.this)
            if not expression.expressions and name in _BARE_CALLS:
                return name
            shown = name if name in _CALLABLE_RESERVED else quote_name(name)
            return f"{shown}({self.format_args(*expression.expressions)})"

        def datatype_sql(self, expression: exp.DataType) -> str:
            inner = [self.sql(e) for e in expression.expressions]
            match expression.this.value:
                case "ARRAY":
                    return f"{inner[0]}[]"
                case "STRUCT":
                    return f"struct<{', '.join(inner)}>"
                case "MAP":
                    return f"map({', '.join(inner)})"
                case name:
                    length = f"({', '.join(inner)})" if inner else ""
                    return f"{_TYPE_NAMES[name]}{length}"

        def columndef_sql(self, expression: exp.ColumnDef, sep: str = " ") -> str:
            return f"{self.sql(expression, 'this')}{sep}{self.sql(expression, 'kind')}"

        def not_sql(self, expression: exp.Not) -> str:
            inner = expression.this
            match inner:
                case exp.In() | exp.Between():
                    text, left = self.sql(inner), self.sql(inner, "this")
                    return f"{left} NOT{text[len(left) :]}"
                case exp.Is():
                    return f"{self.sql(inner, 'this')} IS NOT {self.sql(inner, 'expression')}"
                case exp.Escape():
                    escape = self.sql(inner, "expression")
                    return f"{self.not_sql(exp.Not(this=inner.this.copy()))} ESCAPE {escape}"
            if type(inner) in _NEGATED:
                return str(self.binary(inner, _NEGATED[type(inner)]))
            return f"NOT {self.sql(inner)}"

        def in_sql(self, expression: exp.In) -> str:
            query = expression.args.get("query")
            inner = self.sql(query) if query else f"({self.expressions(expression, flat=True)})"
            return f"{self.sql(expression, 'this')} IN {inner}"

        def between_sql(self, expression: exp.Between) -> str:
            symmetric = " SYMMETRIC" if expression.args.get("symmetric") else ""
            low, high = self.sql(expression, "low"), self.sql(expression, "high")
            return f"{self.sql(expression, 'this')} BETWEEN{symmetric} {low} AND {high}"

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            return f"CAST({self.sql(expression, 'this')} AS {self.sql(expression, 'to')})"

        def interval_sql(self, expression: exp.Interval) -> str:
            unit = expression.args.get("unit")
            text = f"INTERVAL {self.sql(expression, 'this')}"
            return f"{text} {self.sql(unit)}" if unit is not None else text

        def intervalspan_sql(self, expression: exp.IntervalSpan) -> str:
            return f"{self.sql(expression, 'this')} TO {self.sql(expression, 'expression')}"

        def tuple_sql(self, expression: exp.Tuple) -> str:
            items = self.expressions(expression, flat=True)
            in_list = isinstance(expression.parent, _LISTS)
            is_plain = in_list or len(expression.expressions) > 1
            return f"({items})" if is_plain else f"ROW({items})"

        def ignorenulls_sql(self, expression: exp.IgnoreNulls) -> str:
            return f"{self.sql(expression, 'this')} IGNORE NULLS"

        def respectnulls_sql(self, expression: exp.RespectNulls) -> str:
            return f"{self.sql(expression, 'this')} RESPECT NULLS"

        def array_sql(self, expression: exp.Array) -> str:
            items = expression.expressions
            if len(items) == 1 and isinstance(items[0], exp.Subquery):
                return f"ARRAY{self.sql(items[0])}"
            return f"ARRAY[{self.expressions(expression, flat=True)}]"

        def bracket_sql(self, expression: exp.Bracket) -> str:
            inner = self.expressions(expression, flat=True)
            return f"{self.sql(expression, 'this')}[{inner}]"

        def slice_sql(self, expression: exp.Slice) -> str:
            return f"{self.sql(expression, 'this')}:{self.sql(expression, 'expression')}"

        def any_sql(self, expression: exp.Any) -> str:
            return f"ANY({self.sql(expression, 'this')})"

        def all_sql(self, expression: exp.All) -> str:
            return f"ALL({self.sql(expression, 'this')})"

        def extract_sql(self, expression: exp.Extract) -> str:
            value = self.sql(expression, "expression")
            return f"extract({self.sql(expression, 'this')} FROM {value})"

        def star_sql(self, expression: exp.Star) -> str:
            dropped = self.expressions(expression, key="except_", flat=True)
            return f"* EXCEPT ({dropped})" if dropped else "*"

        def bitwisenot_sql(self, expression: exp.BitwiseNot) -> str:
            inner = self.sql(expression, "this")
            return f"~ {inner}" if inner.startswith("~") else f"~{inner}"

        def ordered_sql(self, expression: exp.Ordered) -> str:
            descending = bool(expression.args.get("desc"))
            first = bool(expression.args.get("nulls_first"))
            direction = " DESC" if descending else ""
            nulls = "" if first == descending else f" NULLS {'FIRST' if first else 'LAST'}"
            return f"{self.sql(expression, 'this')}{direction}{nulls}"

        def window_sql(self, expression: exp.Window) -> str:
            head = self.sql(expression, "this")
            base = self.sql(expression, "alias")
            parts = [
                base,
                self._clause("PARTITION BY", expression.args.get("partition_by")),
                self._clause("ORDER BY", getattr(expression.args.get("order"), "expressions", [])),
                self.sql(expression, "spec"),
            ]
            link = "OVER" if expression.args.get("over") else "AS"
            filled = [part for part in parts if part]
            if link == "OVER" and filled == [base]:
                return f"{head} OVER {base}"
            return f"{head} {link} ({' '.join(filled)})"

        def _clause(self, words: str, items: list[exp.Expression] | None) -> str:
            return f"{words} {', '.join(self.sql(item) for item in items)}" if items else ""

        def windowspec_sql(self, expression: exp.WindowSpec) -> str:
            kind = self.sql(expression, "kind")
            if kind == "SESSION":
                return f"SESSION WITH GAP {self.sql(expression, 'start')}"
            start = self._frame_bound(expression, "start")
            end = (
                self._frame_bound(expression, "end")
                if expression.args.get("end")
                else "CURRENT ROW"
            )
            exclude = self.sql(expression, "exclude")
            tail = f" EXCLUDE {exclude}" if exclude else ""
            return f"{kind} BETWEEN {start} AND {end}{tail}"

        def _frame_bound(self, expression: exp.WindowSpec, side: str) -> str:
            where = expression.args.get(f"{side}_side")
            return f"{self.sql(expression, side)} {where}" if where else self.sql(expression, side)

        def version_sql(self, expression: exp.Version) -> str:
            return f"FOR SYSTEM_TIME AS OF {self.sql(expression, 'expression')}"

        def windowtable_sql(self, expression: WindowTable) -> str:
            names = ("this", "time", "slide", "size", "gap", "offset")
            inner = [self.sql(expression, n) for n in names if expression.args.get(n)]
            inner += [self.sql(key) for key in expression.expressions]
            alias = self.sql(expression, "alias")
            joins = "".join(self.sql(join) for join in expression.args.get("joins") or ())
            tail = f" AS {alias}" if alias else ""
            return f"{expression.args['kind'].upper()}({', '.join(inner)}){tail}{joins}"

        def changelogof_sql(self, expression: ChangelogOf) -> str:
            return f"CHANGELOG FROM {self.sql(expression, 'this')}"

        def cte_sql(self, expression: exp.CTE) -> str:
            if isinstance(expression.this, ChangelogOf):
                alias = self.sql(expression, "alias")
                return f"{alias} AS {self.sql(expression, 'this')}"
            return str(super().cte_sql(expression))

        def fetch_sql(self, expression: exp.Fetch) -> str:
            count = self.sql(expression, "count")
            return f"{self.seg('FETCH')} FIRST {count} ROWS WITH TIES"


def print_expression(expression: exp.Expression, *, pretty: bool = False) -> str:
    """Return the normalised SQL of a query, expression or type."""
    return str(expression.sql(dialect=Floodmark, pretty=pretty, comments=False))
