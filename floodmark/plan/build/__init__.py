"""Building: from the clauses of a query to nodes of a logical plan."""
