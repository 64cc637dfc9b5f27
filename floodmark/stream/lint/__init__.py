"""Notes of EXPLAIN and of `floodmark lint`."""
