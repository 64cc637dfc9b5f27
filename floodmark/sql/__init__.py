"""SQL text to statements: the only place that knows how SQL is spelled.

`parse.py` reads a text, `normalise.py` prints a statement; behind them are the packages `parser`
and `printer`, by family of statement. A statement is a frozen dataclass of `statements.py`; queries
and scalar expressions inside it are sqlglot expressions of few, fixed shapes, built by this
package's own strict parser and each with its place in the text (`spans.span_of`):

- Unquoted identifiers are folded to lower case already.
- Every function call, aggregate or not, is `exp.Anonymous(this=<lower name>, expressions=args)`,
  also `coalesce`, `now`, `current_timestamp`, `count`; `count(*)` has an `exp.Star` argument.
  `trim`, `position`, `substring`, `overlay` with keyword arguments become ordinary calls
  (`btrim`/`ltrim`/`rtrim`, `strpos`, `substring`, `overlay`); `EXTRACT` is `exp.Extract(this=Var,
  expression=...)`.
- `f(DISTINCT a, b)` has the one argument `exp.Distinct(expressions=[a, b])`; an ORDER BY inside
  the call is a last argument `exp.Order(this=<last argument or None>, expressions=[Ordered])`.
  Around the call stand, from inside out, `exp.WithinGroup`, `exp.Filter(expression=exp.Where)`,
  `exp.IgnoreNulls` / `exp.RespectNulls`, `exp.Window(partition_by, order, spec, alias)`.
- `x::t`, `CAST(x AS t)` and `t 'literal'` are `exp.Cast`; intervals are `exp.Interval(this=<string
  literal>, unit=Var | IntervalSpan | None)`, never split; `(v).a` is `exp.Dot`; `(a, b)` and
  `ROW(a, b)` are `exp.Tuple`; `ARRAY[a]` is `exp.Array`; subscripts keep their 1-based index.
- `NOT LIKE`, `NOT IN`, `IS NOT NULL` are `exp.Not` around the positive form.
- `->` `exp.JSONExtract`, `->>` `exp.JSONExtractScalar`, `#>` `exp.JSONBExtract`, `#>>`
  `exp.JSONBExtractScalar`, `@>` `exp.ArrayContainsAll`, `<@` `exp.ArrayContainedBy`, `?`
  `exp.JSONBContains`, `&&` `exp.ArrayOverlaps`, `||` `exp.DPipe`.
- A query is `exp.Select`, `exp.SetOperation`, `exp.Values` or `exp.Subquery` (parentheses). The
  FROM list is `from_` plus `joins`; a comma is a join of kind CROSS. A table function is
  `exp.Table(this=exp.Anonymous)`; TUMBLE, HOP and SESSION are `nodes.WindowTable`;
  `WITH x AS CHANGELOG FROM t` is a CTE over `nodes.ChangelogOf`; an as-of join has method ASOF.
- Every `exp.Ordered` has `desc` and `nulls_first` set (NULLS LAST by default, first when DESC).
"""
