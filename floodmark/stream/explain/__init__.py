"""EXPLAIN: plans and their properties, as data and as text."""
