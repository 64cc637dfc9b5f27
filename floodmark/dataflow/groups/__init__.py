"""Groups: what aggregates share, from accumulators to the transitions of each group."""
