"""Window functions: each is computed over all rows at once, in the order of their partitions."""
