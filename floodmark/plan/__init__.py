"""From a query to a logical plan."""
