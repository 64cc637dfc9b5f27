"""Small queries, computed in the engine's process with Arrow.

A query of Spark costs some 0.1 s before its first row. What is here reads the plan of a query, as
it would be sent, and computes it: the same plan over the same files, so that operators know nothing
of it. It knows the relations and functions that small epochs are made of. Whatever else a plan has,
and every row whose value could differ from Spark's (an overflow, NaN, an error), is left to Spark:
`UnsupportedQuery` is raised, nothing is written, and the query is sent.
"""
