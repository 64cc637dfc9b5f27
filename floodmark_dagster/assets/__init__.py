"""Assets, their checks and partitions, and what Dagster is told of them."""
